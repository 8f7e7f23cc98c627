#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/schedule/schedule_traits.hpp"
#include "strategies/collectives/schedules/compose.hpp"
#include "strategies/collectives/schedules/compose_names.hpp"

namespace lockstep {
namespace {

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

class Stripes final : public Schedule, public SymmetricSchedule {
 public:
  Stripes(std::vector<Stripe> stripes, StripePlaces places)
      : stripes_{std::move(stripes)}, places_{std::move(places)} {
    LOCKSTEP_CHECK(!stripes_.empty());
    for (const Stripe& stripe : stripes_) {
      check_part(*stripe.part);
      LOCKSTEP_CHECK(stripe.part->ranks() == ranks());
      slice_ = std::lcm(slice_, stripe.part->blocks());
      for (int lane = 0; lane < stripe.part->lanes(); ++lane)
        stripe_of_.push_back(first_lane_.size());
      first_lane_.push_back(static_cast<int>(std::ssize(stripe_of_)) - stripe.part->lanes());
    }
    LOCKSTEP_CHECK(!places_ || parts_have_equal_lanes());
  }

  [[nodiscard]] int ranks() const override { return stripes_.front().part->ranks(); }
  [[nodiscard]] int lanes() const override { return static_cast<int>(std::ssize(stripe_of_)); }
  [[nodiscard]] std::int64_t blocks() const override { return std::ssize(stripes_) * slice_; }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override {
    return scratch_before(rank, stripes_.size());
  }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    const std::size_t s = stripe_at(rank, lane);
    return stripes_[s].part->steps(place_of(s, rank), lane - first_lane(rank, s));
  }

  /// A channel's name is that of the part and the sender's place for it, so no two parts share one.
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const std::size_t s = stripe_at(rank, lane);
    const Stripe& stripe = stripes_[s];
    stripe.part->step(place_of(s, rank), lane - first_lane(rank, s), index, step);
    const Renaming names{.offset = static_cast<std::int64_t>(s) * slice_,
                         .scratch = scratch_before(rank, s),
                         .scale = slice_ / stripe.part->blocks(),
                         .parts = static_cast<int>(stripes_.size()),
                         .lane = first_lane(rank, s)};
    rename(step, names,
           [&](int place) { return stripe.order.rank_at ? stripe.order.rank_at(place) : place; });
    for (Send& send : step.sends) send.channel += place_for(rank, s);
    for (Receive& receive : step.receives) receive.channel += place_for(receive.peer, s);
  }

  /// Rotations by whole periods of all orders move the places of each part by as many ranks.
  [[nodiscard]] std::optional<BlockMoves> moves() const override {
    if (places_) return std::nullopt;
    std::int64_t block = 1;
    for (const Stripe& stripe : stripes_) {
      const auto own = moves_of(*stripe.part);
      const int period = stripe.order.rank_at ? stripe.order.period : 1;
      if (!own || own->kind != BlockMoves::Kind::rotation || period == 0) return std::nullopt;
      block = std::lcm(block, std::lcm<std::int64_t>(own->block, period));
      if (block >= ranks() || ranks() % block != 0) return std::nullopt;
    }
    return BlockMoves{BlockMoves::Kind::rotation, static_cast<int>(block),
                      ranks() / static_cast<int>(block)};
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    std::vector<Phase> shared = stripes_.front().part->phases();
    for (const Stripe& stripe : stripes_) shared = common(shared, stripe.part->phases());
    return shared;
  }

 private:
  [[nodiscard]] bool parts_have_equal_lanes() const {
    return std::all_of(stripes_.begin(), stripes_.end(), [&](const Stripe& stripe) {
      return stripe.part->lanes() == stripes_.front().part->lanes();
    });
  }
  /// The rank's place for a stripe.
  [[nodiscard]] int place_for(int rank, std::size_t s) const {
    return places_ ? places_(rank, static_cast<int>(s)) : static_cast<int>(s);
  }
  [[nodiscard]] int first_lane(int rank, std::size_t s) const {
    return first_lane_[static_cast<std::size_t>(place_for(rank, s))];
  }
  [[nodiscard]] std::size_t stripe_at(int rank, int lane) const {
    const std::size_t place = stripe_of_[static_cast<std::size_t>(lane)];
    std::size_t s = place;
    while (place_for(rank, s) != static_cast<int>(place)) s = (s + 1) % stripes_.size();
    return s;
  }
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
  StripePlaces places_;                 // none: in their order
  std::int64_t slice_ = 1;              // blocks of a stripe
  std::vector<std::size_t> stripe_of_;  // per lane: the place, of a stripe
  std::vector<int> first_lane_;         // per place
};

}  // namespace

SchedulePtr side_by_side(std::vector<Stripe> stripes, StripePlaces places) {
  return std::make_shared<Stripes>(std::move(stripes), std::move(places));
}

}  // namespace lockstep
