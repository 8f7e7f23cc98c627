#include "strategies/collectives/compose.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/check.hpp"

namespace lockstep {
namespace {

/// How a part's blocks, channels and steps are called in the whole. Channels of part k of m become
/// k, m + k, 2m + k, ..., so that no two parts share one.
struct Renaming {
  std::int64_t offset = 0;   // of the part's first block of data
  std::int64_t scratch = 0;  // of its first block of scratch
  std::int64_t scale = 1;
  int part = 0;
  int parts = 1;
  int lane = 0;  // the part's first
  std::int64_t step = 0;

  [[nodiscard]] Chunk operator()(Chunk chunk) const {
    const std::int64_t first = chunk.buffer == Buffer::scratch ? scratch : offset;
    return {chunk.buffer, first + chunk.first * scale, chunk.count * scale};
  }
};

template <typename Peer>
void rename(Step& whole, const Renaming& names, const Peer& peer_of) {
  const auto message = [&](auto& each) {
    each.peer = peer_of(each.peer);
    each.chunk = names(each.chunk);
    each.channel = each.channel * names.parts + names.part;
  };
  for (Send& send : whole.sends) message(send);
  for (Receive& receive : whole.receives) message(receive);
  for (Chunk& chunk : whole.pieces) chunk = names(chunk);
  for (LocalOperation& local : whole.locals) {
    local.from = names(local.from);
    local.to = names(local.to);
  }
  for (StepRef& ref : whole.after) ref = {names.lane + ref.lane, names.step + ref.step};
}

void check_part(const Schedule& part) {
  LOCKSTEP_CHECK(part.slots() == 0);
  LOCKSTEP_CHECK(part.result() == Buffer::data);
}

/// What sequences and pipelines share: who plays which part on which blocks.
class Staged : public Schedule {
 public:
  Staged(int ranks, std::int64_t blocks, std::int64_t chunks, std::vector<Stage> stages)
      : ranks_{ranks}, blocks_{blocks}, chunks_{chunks}, stages_{std::move(stages)} {
    for (const Stage& stage : stages_) {
      check_part(*stage.part);
      LOCKSTEP_CHECK(stage.members <= ranks);
      LOCKSTEP_CHECK(stage.members % (stage.stride * stage.part->ranks()) == 0);
      LOCKSTEP_CHECK(stage.part->blocks() * stage.scale <= blocks);
    }
  }

  [[nodiscard]] int ranks() const final { return ranks_; }
  [[nodiscard]] std::int64_t blocks() const final { return chunks_ * blocks_; }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const final {
    return chunks_ * scratch_before(rank, stages_.size());
  }

 protected:
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  [[nodiscard]] std::int64_t chunks() const { return chunks_; }

  [[nodiscard]] static bool plays(const Stage& stage, int rank) { return rank < stage.members; }
  [[nodiscard]] static int seat_of(const Stage& stage, int rank) {
    return rank / stage.stride % stage.part->ranks();
  }

  /// Step `index` that the part has in its `lane`, for the chunk at hand. `before` is the number of
  /// steps that the lanes from `first_lane` on have before the part's.
  void play(std::size_t s, std::int64_t chunk, int rank, int lane, std::int64_t index,
            int first_lane, std::int64_t before, Step& step) const {
    const Stage& stage = stages_[s];
    const int seat = seat_of(stage, rank);
    stage.part->step(seat, lane, index, step);
    const std::int64_t offset = stage.offset ? stage.offset(rank) : 0;
    const Renaming names{
        .offset = chunk * blocks_ + offset,
        .scratch = chunk * scratch_before(rank, stages_.size()) + scratch_before(rank, s),
        .scale = stage.scale,
        .part = static_cast<int>(s),
        .parts = static_cast<int>(stages_.size()),
        .lane = first_lane,
        .step = before};
    const int first = rank - seat * stage.stride;
    rename(step, names, [&](int peer) { return first + peer * stage.stride; });
  }

 private:
  [[nodiscard]] std::int64_t scratch_before(int rank, std::size_t end) const {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < end; ++s) {
      const Stage& stage = stages_[s];
      if (plays(stage, rank)) sum += stage.scale * stage.part->scratch_blocks(seat_of(stage, rank));
    }
    return sum;
  }

  int ranks_;
  std::int64_t blocks_;  // of one chunk
  std::int64_t chunks_;
  std::vector<Stage> stages_;
};

/// How many steps the lanes of a part have, each number once.
std::set<std::int64_t> lengths_of(const Schedule& part) {
  std::set<std::int64_t> lengths;
  std::int64_t last = -1;
  for (int rank = 0; rank < part.ranks(); ++rank) {
    for (int lane = 0; lane < part.lanes(); ++lane) {
      const std::int64_t steps = part.steps(rank, lane);
      if (steps != last) lengths.insert(steps);
      last = steps;
    }
  }
  return lengths;
}

/// Lane l of every stage is lane l of the whole. Where a rank or a lane has fewer steps than the
/// stage is long, empty ones follow.
class Sequence final : public Staged {
 public:
  Sequence(int ranks, std::int64_t blocks, std::vector<Stage> stages)
      : Staged(ranks, blocks, 1, std::move(stages)) {
    for (const Stage& each : this->stages()) {
      const std::set<std::int64_t> lengths = lengths_of(*each.part);
      add_phases(each, lengths);
      ends_.push_back(length() + *lengths.rbegin());
      lanes_ = std::max(lanes_, each.part->lanes());
    }
  }

  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return length(); }

  void step(int rank, int lane, std::int64_t index, Step& step) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const auto s = static_cast<std::size_t>(end - ends_.begin());
    const Stage& stage = stages()[s];
    if (lane >= stage.part->lanes()) return;
    const std::int64_t in_part = index - start_of(s);
    if (plays(stage, rank) && in_part < stage.part->steps(seat_of(stage, rank), lane))
      play(s, 0, rank, lane, in_part, 0, start_of(s), step);
    if (in_part == 0) wait_for_stages_before(s, lane, step);
  }

  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  [[nodiscard]] std::int64_t length() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::int64_t start_of(std::size_t s) const { return s == 0 ? 0 : ends_[s - 1]; }

  /// The lane itself needs no waiting for.
  void wait_for_stages_before(std::size_t s, int lane, Step& step) const {
    const std::int64_t start = start_of(s);
    if (start == 0) return;
    const int others = lanes_before(s);
    for (int other = 0; other < others; ++other) {
      if (other != lane) step.after.push_back({other, start - 1});
    }
  }

  /// Lanes that some stage before stage s works in.
  [[nodiscard]] int lanes_before(std::size_t s) const {
    int most = 0;
    for (std::size_t k = 0; k < s; ++k) most = std::max(most, stages()[k].part->lanes());
    return most;
  }

  /// A phase ends where some lane has no more steps, and begins after a step that waits.
  void add_phases(const Stage& stage, const std::set<std::int64_t>& lengths) {
    const bool waits = length() > 0 && (lanes_ > 1 || stage.part->lanes() > 1);
    for (Phase phase : stage.part->phases()) {
      const auto shorter = lengths.upper_bound(phase.first);
      if (shorter == lengths.end()) continue;
      std::int64_t end = std::min(phase.first + phase.count, *shorter);
      if (waits && phase.first == 0) ++phase.first;
      if (end - phase.first > 1) phases_.push_back({length() + phase.first, end - phase.first});
    }
  }

  std::vector<std::int64_t> ends_;  // per stage, the step after its last
  std::vector<Phase> phases_;
  int lanes_ = 1;
};

/// Lanes stage after stage; in each the steps of one chunk after those of another.
class Pipeline final : public Staged {
 public:
  Pipeline(int ranks, std::int64_t blocks, std::vector<Stage> stages, std::int64_t chunks)
      : Staged(ranks, blocks, chunks, std::move(stages)) {
    for (const Stage& each : this->stages()) {
      for (int lane = 0; lane < each.part->lanes(); ++lane) stage_of_.push_back(first_lane_.size());
      first_lane_.push_back(static_cast<int>(std::ssize(stage_of_)) - each.part->lanes());
    }
  }

  [[nodiscard]] int lanes() const override { return static_cast<int>(std::ssize(stage_of_)); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return chunks() * steps_of_chunk(rank, lane);
  }

  void step(int rank, int lane, std::int64_t index, Step& step) const override {
    const std::size_t s = stage_of_[static_cast<std::size_t>(lane)];
    const std::int64_t steps = steps_of_chunk(rank, lane);
    const std::int64_t chunk = index / steps;
    const int first = first_lane_[s];
    play(s, chunk, rank, lane - first, index % steps, first, 0, step);
    for (StepRef& ref : step.after) ref.step += chunk * steps_of_chunk(rank, ref.lane);
    if (index % steps == 0) wait_for_stage_before(rank, s, chunk, step);
  }

 private:
  [[nodiscard]] std::int64_t steps_of_chunk(int rank, int lane) const {
    const std::size_t s = stage_of_[static_cast<std::size_t>(lane)];
    const Stage& stage = stages()[s];
    return plays(stage, rank) ? stage.part->steps(seat_of(stage, rank), lane - first_lane_[s]) : 0;
  }

  /// The last stage before in which the rank has something to do: it waited for those before it.
  void wait_for_stage_before(int rank, std::size_t s, std::int64_t chunk, Step& step) const {
    const std::size_t waits_before = step.after.size();
    while (s > 0 && step.after.size() == waits_before) {
      --s;
      const int end = first_lane_[s] + stages()[s].part->lanes();
      for (int lane = first_lane_[s]; lane < end; ++lane) {
        const std::int64_t steps = steps_of_chunk(rank, lane);
        if (steps > 0) step.after.push_back({lane, (chunk + 1) * steps - 1});
      }
    }
  }

  std::vector<std::size_t> stage_of_;  // per lane
  std::vector<int> first_lane_;        // per stage
};

/// The steps that lie in a phase of either.
std::vector<Phase> common(const std::vector<Phase>& a, const std::vector<Phase>& b) {
  std::vector<Phase> both;
  for (auto [i, j] = std::pair{a.begin(), b.begin()}; i != a.end() && j != b.end();) {
    const std::int64_t first = std::max(i->first, j->first);
    const std::int64_t end = std::min(i->first + i->count, j->first + j->count);
    if (end - first > 1) both.push_back({first, end - first});
    i->first + i->count == end ? ++i : ++j;
  }
  return both;
}

class Stripes final : public Schedule {
 public:
  explicit Stripes(std::vector<Stripe> stripes) : stripes_{std::move(stripes)} {
    LOCKSTEP_CHECK(!stripes_.empty());
    for (const Stripe& stripe : stripes_) {
      check_part(*stripe.part);
      LOCKSTEP_CHECK(stripe.part->ranks() == ranks());
      slice_ = std::lcm(slice_, stripe.part->blocks());
      for (int lane = 0; lane < stripe.part->lanes(); ++lane)
        stripe_of_.push_back(first_lane_.size());
      first_lane_.push_back(static_cast<int>(std::ssize(stripe_of_)) - stripe.part->lanes());
    }
  }

  [[nodiscard]] int ranks() const override { return stripes_.front().part->ranks(); }
  [[nodiscard]] int lanes() const override { return static_cast<int>(std::ssize(stripe_of_)); }
  [[nodiscard]] std::int64_t blocks() const override { return std::ssize(stripes_) * slice_; }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override {
    return scratch_before(rank, stripes_.size());
  }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    const std::size_t s = stripe_of_[static_cast<std::size_t>(lane)];
    return stripes_[s].part->steps(place_of(s, rank), lane - first_lane_[s]);
  }

  void step(int rank, int lane, std::int64_t index, Step& step) const override {
    const std::size_t s = stripe_of_[static_cast<std::size_t>(lane)];
    const Stripe& stripe = stripes_[s];
    stripe.part->step(place_of(s, rank), lane - first_lane_[s], index, step);
    const Renaming names{.offset = static_cast<std::int64_t>(s) * slice_,
                         .scratch = scratch_before(rank, s),
                         .scale = slice_ / stripe.part->blocks(),
                         .part = static_cast<int>(s),
                         .parts = static_cast<int>(stripes_.size()),
                         .lane = first_lane_[s]};
    rename(step, names,
           [&](int place) { return stripe.order.rank_at ? stripe.order.rank_at(place) : place; });
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    std::vector<Phase> shared = stripes_.front().part->phases();
    for (const Stripe& stripe : stripes_) shared = common(shared, stripe.part->phases());
    return shared;
  }

 private:
  [[nodiscard]] int place_of(std::size_t s, int rank) const {
    const RankOrder& order = stripes_[s].order;
    return order.place_of ? order.place_of(rank) : rank;
  }
  [[nodiscard]] std::int64_t scratch_before(int rank, std::size_t end) const {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < end; ++s) {
      const Schedule& part = *stripes_[s].part;
      sum += slice_ / part.blocks() * part.scratch_blocks(place_of(s, rank));
    }
    return sum;
  }

  std::vector<Stripe> stripes_;
  std::int64_t slice_ = 1;              // blocks of a stripe
  std::vector<std::size_t> stripe_of_;  // per lane
  std::vector<int> first_lane_;         // per stripe
};

}  // namespace

SchedulePtr in_sequence(int ranks, std::int64_t blocks, std::vector<Stage> stages) {
  return std::make_shared<Sequence>(ranks, blocks, std::move(stages));
}

SchedulePtr in_pipeline(int ranks, std::int64_t blocks, std::vector<Stage> stages,
                        std::int64_t chunks) {
  if (chunks == 1) return in_sequence(ranks, blocks, std::move(stages));
  return std::make_shared<Pipeline>(ranks, blocks, std::move(stages), chunks);
}

SchedulePtr side_by_side(std::vector<Stripe> stripes) {
  return std::make_shared<Stripes>(std::move(stripes));
}

}  // namespace lockstep
