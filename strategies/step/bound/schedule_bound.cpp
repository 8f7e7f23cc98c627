#include "strategies/step/bound/schedule_bound.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace lockstep {

namespace {

/// Bytes over a rate, rounded down.
[[nodiscard]] Int128 floor_ps(UInt128 weighted_bytes, Rate rate) {
  // weight units * bytes * 2^16 steps * 1e12 ps / (steps per second * weight unit)
  constexpr UInt128 kScale = UInt128{1'000'000'000'000} << 16U;
  const UInt128 whole = weighted_bytes / kWeightUnit;
  const UInt128 rest = weighted_bytes % kWeightUnit;
  const UInt128 ps = whole * kScale / rate.steps() + rest * (kScale / kWeightUnit) / rate.steps();
  return static_cast<Int128>(ps);
}

/// Walks the steps that do not repeat, each as often as it occurs.
class Walk {
 public:
  Walk(const Schedule& schedule, std::span<const EndpointId> members, Bytes block,
       const Network& network)
      : schedule_{schedule},
        members_{members},
        block_{block},
        network_{network},
        phases_{schedule.phases()},
        rendezvous_{schedule.slots() == 0} {}

  [[nodiscard]] bool is_short(int ranks, std::int64_t most) const {
    std::int64_t steps = 0;
    for (int rank = 0; rank < ranks; ++rank)
      for (int lane = 0; lane < schedule_.lanes(); ++lane) steps += distinct_steps(rank, lane);
    return steps <= most;
  }

  /// Of one rank, from its begin.
  [[nodiscard]] Duration least_time_of(int rank) {
    loads_.clear();
    Int128 most = 0;
    for (int lane = 0; lane < schedule_.lanes(); ++lane)
      most = std::max(most, walk_lane(rank, lane));
    // Each transfer may end half a picosecond early.
    for (const auto& [link, load] : loads_)
      most = std::max(most, floor_ps(load.weighted_bytes, network_.links[link].bandwidth) -
                                static_cast<Int128>(load.transfers));
    return Duration::picoseconds(static_cast<std::int64_t>(most));
  }

 private:
  struct Load {
    UInt128 weighted_bytes = 0;
    std::int64_t transfers = 0;

    void add(UInt128 weighted, std::int64_t times) {
      weighted_bytes += weighted * static_cast<UInt128>(times);
      transfers += times;
    }
  };

  [[nodiscard]] std::int64_t distinct_steps(int rank, int lane) const {
    std::int64_t steps = schedule_.steps(rank, lane);
    const std::int64_t all = steps;
    for (const Phase& phase : phases_)
      if (phase.first + phase.count <= all) steps -= phase.count - 1;
    return std::max<std::int64_t>(steps, 0);
  }

  [[nodiscard]] Int128 walk_lane(int rank, int lane) {
    const std::int64_t steps = schedule_.steps(rank, lane);
    Int128 lane_ps = 0;
    std::size_t next = 0;
    for (std::int64_t index = 0; index < steps;) {
      while (next < phases_.size() && phases_[next].first < index) ++next;
      std::int64_t times = 1;
      if (next < phases_.size() && phases_[next].first == index)
        times = std::clamp<std::int64_t>(phases_[next].count, 1, steps - index);
      step_.clear();
      schedule_.step(rank, lane, index, step_);
      lane_ps += walk_step(rank, times) * times;
      index += times;
    }
    return lane_ps;
  }

  /// Notes what it loads, `times` times; how long the step takes at least.
  [[nodiscard]] Int128 walk_step(int rank, std::int64_t times) {
    Int128 longest = 0;
    for (const Send& send : step_.sends) {
      const Bytes size = block_ * step_.blocks_of(send);
      longest = std::max(longest, transfer(rank, send.peer, size, times));
    }
    // Into a slot a message may have come before the rank began.
    if (!rendezvous_) return longest;
    for (const Receive& receive : step_.receives) {
      const Bytes size = block_ * step_.blocks_of(receive);
      longest = std::max(longest, transfer(receive.peer, rank, size, times * receive.times));
    }
    return longest;
  }

  [[nodiscard]] Int128 transfer(int from, int to, Bytes size, std::int64_t times) {
    const EndpointId source = members_[static_cast<std::size_t>(from)];
    const EndpointId target = members_[static_cast<std::size_t>(to)];
    if (!network_.router->route(source, target, route_)) return 0;
    const auto bytes = static_cast<UInt128>(size.count());
    Int128 slowest = 0;
    for (const Hop& hop : route_.hops) {
      const UInt128 weighted = bytes * hop.weight;
      loads_[hop.link].add(weighted, times);
      slowest = std::max(slowest, floor_ps(weighted, network_.links[hop.link].bandwidth));
    }
    const Int128 latency = rendezvous_ ? route_.latency.ps() : 0;
    // A transfer ends at the nearest picosecond.
    return std::max<Int128>(0, slowest + latency - 1);
  }

  const Schedule& schedule_;
  std::span<const EndpointId> members_;
  Bytes block_;
  const Network& network_;
  std::vector<Phase> phases_;
  bool rendezvous_;
  std::map<LinkId, Load> loads_;  // by transfers of the rank that is walked
  ScheduleStep step_;
  Route route_;
};

}  // namespace

Duration least_time(const Schedule& schedule, std::span<const EndpointId> members, int data_ranks,
                    Bytes block, const Network& network, std::int64_t most_steps) {
  if (data_ranks < 1 || network.router->by_channel()) return {};
  Walk walk{schedule, members, block, network};
  if (!walk.is_short(data_ranks, most_steps)) return {};
  Duration least = walk.least_time_of(0);
  for (int rank = 1; rank < data_ranks; ++rank) least = std::min(least, walk.least_time_of(rank));
  return least;
}

MessageBound least_time(EndpointId from, EndpointId to, Bytes size, const Network& network) {
  Route route;
  if (network.router->by_channel() || !network.router->route(from, to, route)) return {};
  Int128 slowest = 0;
  for (const Hop& hop : route.hops)
    slowest = std::max(slowest, floor_ps(static_cast<UInt128>(size.count()) * hop.weight,
                                         network.links[hop.link].bandwidth));
  return {Duration::picoseconds(static_cast<std::int64_t>(std::max<Int128>(0, slowest - 1))),
          route.latency};
}

}  // namespace lockstep
