#include "strategies/collectives/schedules/halves.hpp"

#include "strategies/collectives/schedules/block_schedule.hpp"

namespace lockstep {
namespace {

/// In round s a rank sends what it received in the round before. Scattering, the block that comes
/// last is its own; gathering, the block that it sends first.
class RingHalf final : public BlockSchedule {
 public:
  RingHalf(int n, RingWay way, Combine combine) : BlockSchedule(n), way_{way}, combine_{combine} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return std::int64_t{n()} - 1; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    const int first = combine_ == Combine::reduce ? 1 : 0;
    const int sent = before(rank, first + static_cast<int>(index));
    step.sends.push_back({after(rank), {Buffer::data, sent, 1}});
    step.receives.push_back({before(rank, 1), {Buffer::data, before(sent, 1), 1}, combine_});
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{0, n() - 1}};
  }

 private:
  [[nodiscard]] int before(int rank, int distance) const {
    return way_ == RingWay::up ? behind(rank, distance) : ahead(rank, distance);
  }
  [[nodiscard]] int after(int rank) const {
    return way_ == RingWay::up ? ahead(rank, 1) : behind(rank, 1);
  }

  RingWay way_;
  Combine combine_;
};

class DirectHalf final : public BlockSchedule {
 public:
  DirectHalf(int n, Combine combine) : BlockSchedule(n), combine_{combine} {}

  [[nodiscard]] std::int64_t steps(int, int) const override { return n() > 1 ? 1 : 0; }

  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    const bool scatter = combine_ == Combine::reduce;
    for (int distance = 1; distance < n(); ++distance) {
      const int to = ahead(rank, distance);
      const int from = behind(rank, distance);
      step.sends.push_back({to, {Buffer::data, scatter ? to : rank, 1}});
      step.receives.push_back({from, {Buffer::data, scatter ? rank : from, 1}, combine_});
    }
  }

 private:
  Combine combine_;
};

}  // namespace

SchedulePtr ring_reduce_scatter(int n, RingWay way) {
  return std::make_shared<RingHalf>(n, way, Combine::reduce);
}
SchedulePtr ring_all_gather(int n, RingWay way) {
  return std::make_shared<RingHalf>(n, way, Combine::copy);
}

SchedulePtr direct_reduce_scatter(int n) {
  return std::make_shared<DirectHalf>(n, Combine::reduce);
}
SchedulePtr direct_all_gather(int n) {
  return std::make_shared<DirectHalf>(n, Combine::copy);
}

}  // namespace lockstep
