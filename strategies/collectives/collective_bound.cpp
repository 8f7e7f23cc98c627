#include "strategies/collectives/collective_bound.hpp"

#include "sim/check.hpp"
#include "strategies/collectives/end_point_routes.hpp"
#include "strategies/collectives/floor_time.hpp"

namespace lockstep {
namespace {

/// Zero where somebody's reductions cost no time.
UInt128 total_reduce_steps(const Network& network, const std::vector<EndpointId>& end_points) {
  UInt128 steps = 0;
  for (const EndpointId end_point : end_points) {
    const auto& rate = network.endpoints[end_point].reduce_rate;
    if (!rate) return 0;
    steps += rate->steps();
  }
  return steps;
}

}  // namespace

CollectiveBound::CollectiveBound(Collective collective, const Network& network,
                                 std::span<const EndpointId> members,
                                 std::span<const EndpointId> helpers,
                                 std::vector<Partition> partitions, int root, int distance)
    : demand_{collective, static_cast<std::int64_t>(members.size()), root, distance},
      partitions_{std::move(partitions)} {
  for (const Partition& partition : partitions_)
    LOCKSTEP_CHECK(!demand_.counts_members() || partition.members() == demand_.members());
  std::vector<EndpointId> all{members.begin(), members.end()};
  all.insert(all.end(), helpers.begin(), helpers.end());
  reduce_steps_ = total_reduce_steps(network, all);
  if (members.size() < 2) return;
  if (all.size() > kAllPairs) {
    latency_ = farthest_probe(network, members, demand_);
    return;
  }
  const EndPointRoutes routes{network, all};
  if (auto ports = routes.ports(members.size()))
    partitions_.insert(partitions_.begin(), std::move(*ports));
  latency_ = routes.farthest(demand_);
}

LowerBound CollectiveBound::at(Bytes message) const {
  LowerBound bound{.latency = latency_, .bandwidth = {}, .reduction = {}, .tightest_cut = {}};
  for (const Partition& partition : partitions_) {
    const EdgeTimes least = partition.least_times(demand_, message);
    bound.bandwidth_with_switches = std::max(bound.bandwidth_with_switches, least.each);
    if (least.longest() <= bound.bandwidth) continue;
    bound.bandwidth = least.longest();
    bound.tightest_cut = partition.name();
  }
  if (reduce_steps_ > 0)
    bound.reduction = floor_time(repeated_work(message, demand_.additions()), reduce_steps_);
  return bound;
}

}  // namespace lockstep
