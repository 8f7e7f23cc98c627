#include "strategies/collectives/schedules/compose.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "strategies/collectives/schedules/compose_names.hpp"

namespace lockstep {
namespace {

/// What sequences and pipelines share: which ranks execute which part on which blocks.
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
  [[nodiscard]] static int member_slot_of(const Stage& stage, int rank) {
    return rank / stage.stride % stage.part->ranks();
  }

  /// ScheduleStep `index` that the part has in its `lane`, for the chunk at hand. `before` is the
  /// number of steps that the lanes from `first_lane` on have before the part's.
  void play(std::size_t s, std::int64_t chunk, int rank, int lane, std::int64_t index,
            int first_lane, std::int64_t before, ScheduleStep& step) const {
    const Stage& stage = stages_[s];
    const int seat = member_slot_of(stage, rank);
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
      if (plays(stage, rank))
        sum += stage.scale * stage.part->scratch_blocks(member_slot_of(stage, rank));
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

  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const auto s = static_cast<std::size_t>(end - ends_.begin());
    const Stage& stage = stages()[s];
    if (lane >= stage.part->lanes()) return;
    const std::int64_t in_part = index - start_of(s);
    if (plays(stage, rank) && in_part < stage.part->steps(member_slot_of(stage, rank), lane))
      play(s, 0, rank, lane, in_part, 0, start_of(s), step);
    if (in_part == 0) wait_for_stages_before(s, lane, step);
  }

  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  [[nodiscard]] std::int64_t length() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::int64_t start_of(std::size_t s) const { return s == 0 ? 0 : ends_[s - 1]; }

  /// The lane itself needs no waiting for.
  void wait_for_stages_before(std::size_t s, int lane, ScheduleStep& step) const {
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

  /// Without stages there is one lane, in which nothing happens.
  [[nodiscard]] int lanes() const override {
    return std::max(1, static_cast<int>(std::ssize(stage_of_)));
  }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return stage_of_.empty() ? 0 : chunks() * steps_of_chunk(rank, lane);
  }

  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const std::size_t s = stage_of_[static_cast<std::size_t>(lane)];
    const std::int64_t steps = steps_of_chunk(rank, lane);
    LOCKSTEP_CHECK(steps > 0);
    const std::int64_t chunk = index / steps;
    const int first = first_lane_[s];
    play(s, chunk, rank, lane - first, index % steps, first, 0, step);
    for (ScheduleStepRef& ref : step.after) ref.step += chunk * steps_of_chunk(rank, ref.lane);
    if (index % steps == 0) wait_for_stage_before(rank, s, chunk, step);
  }

 private:
  [[nodiscard]] std::int64_t steps_of_chunk(int rank, int lane) const {
    const std::size_t s = stage_of_[static_cast<std::size_t>(lane)];
    const Stage& stage = stages()[s];
    return plays(stage, rank)
               ? stage.part->steps(member_slot_of(stage, rank), lane - first_lane_[s])
               : 0;
  }

  /// The last stage before in which the rank has something to do: it waited for those before it.
  void wait_for_stage_before(int rank, std::size_t s, std::int64_t chunk,
                             ScheduleStep& step) const {
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

class Reversed final : public Schedule {
 public:
  Reversed(SchedulePtr part, Combine combine) : part_{std::move(part)}, combine_{combine} {
    check_part(*part_);
    LOCKSTEP_CHECK(part_->lanes() == 1);
  }

  [[nodiscard]] int ranks() const override { return part_->ranks(); }
  [[nodiscard]] std::int64_t blocks() const override { return part_->blocks(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return part_->steps(rank, lane);
  }

  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    part_->step(rank, lane, steps(rank, lane) - 1 - index, step);
    LOCKSTEP_CHECK(step.locals.empty() && step.after.empty());
    const std::vector<Send> sent = std::exchange(step.sends, {});
    for (const Receive& each : step.receives) {
      LOCKSTEP_CHECK(each.combine == Combine::copy);
      step.sends.push_back({each.peer, each.chunk, each.channel, each.more});
    }
    step.receives.clear();
    for (const Send& each : sent)
      step.receives.push_back({each.peer, each.chunk, combine_, each.channel, each.more});
  }

 private:
  SchedulePtr part_;
  Combine combine_;
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

RankOrder composed(const RankOrder& outer, const RankOrder& inner) {
  if (!inner.rank_at) return outer;
  if (!outer.rank_at) return inner;
  return {[=](int place) { return outer.rank_at(inner.rank_at(place)); },
          [=](int rank) { return inner.place_of(outer.place_of(rank)); }};
}

SchedulePtr reversed(SchedulePtr part, Combine combine) {
  return std::make_shared<Reversed>(std::move(part), combine);
}

}  // namespace lockstep
