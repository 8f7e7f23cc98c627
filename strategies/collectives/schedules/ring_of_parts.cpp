#include "strategies/collectives/schedules/ring_of_parts.hpp"

#include "strategies/collectives/schedules/block_schedule.hpp"
#include "strategies/collectives/schedules/ring_order.hpp"

namespace lockstep {
namespace {

class RingOfParts final : public BlockSchedule {
 public:
  RingOfParts(int n, std::vector<RankOrder> orders, bool reduces)
      : BlockSchedule(n, std::int64_t{n} * std::ssize(orders)),
        orders_{std::move(orders)},
        reduces_{reduces} {}

  [[nodiscard]] int lanes() const override { return static_cast<int>(std::ssize(orders_)); }
  [[nodiscard]] std::int64_t steps(int, int) const override { return n() - 1; }

  /// In round s the rank at place p sends the part of place p-s, or on its way to being complete at
  /// place p-1-s that one.
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    const RankOrder& order = orders_[static_cast<std::size_t>(lane)];
    const int place = order.place_of ? order.place_of(rank) : rank;
    const int sent = behind(place, static_cast<int>(index) + (reduces_ ? 1 : 0));
    step.sends.push_back({rank_at(order, ahead(place, 1)), slice(order, sent, lane), lane});
    step.receives.push_back({rank_at(order, behind(place, 1)), slice(order, behind(sent, 1), lane),
                             reduces_ ? Combine::reduce : Combine::copy, lane});
  }

  [[nodiscard]] std::vector<Phase> phases() const override {
    if (n() == 1) return {};
    return {{0, n() - 1}};
  }

 private:
  [[nodiscard]] static int rank_at(const RankOrder& order, int place) {
    return order.rank_at ? order.rank_at(place) : place;
  }
  [[nodiscard]] Chunk slice(const RankOrder& order, int place, int lane) const {
    return {Buffer::data, std::int64_t{rank_at(order, place)} * lanes() + lane, 1};
  }

  std::vector<RankOrder> orders_;  // per channel
  bool reduces_;
};

}  // namespace

SchedulePtr make_ring_of_parts(int n, int channels, const RankLayout& layout, bool reduces) {
  std::vector<RankOrder> orders;
  for (int channel = 0; channel < channels; ++channel) {
    orders.push_back(ring_order(n, layout, channel));
  }
  return std::make_shared<RingOfParts>(n, std::move(orders), reduces);
}

CollectiveCost ring_of_parts_estimate(int n, int channels, bool reduces) {
  const std::int64_t others = n - 1;
  return {.rounds = others,
          .path_blocks = others * channels,
          .reduced_blocks = reduces ? others * channels : 0,
          .sent_blocks = others * channels};
}

AlgorithmParameter ring_channels_parameter() {
  return {.name = "channels",
          .meaning =
              "how many rings side by side, each on a slice of every part and, in nodes, "
              "over other NICs",
          .fallback = 1,
          .most = 64};
}

}  // namespace lockstep
