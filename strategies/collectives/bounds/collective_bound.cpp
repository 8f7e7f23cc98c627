#include "strategies/collectives/bounds/collective_bound.hpp"

#include <utility>

#include "sim/base/check.hpp"
#include "strategies/collectives/bounds/end_point_routes.hpp"
#include "strategies/collectives/bounds/floor_time.hpp"

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

CollectiveBound::CollectiveBound(BoundRequest request)
    : demand_{request.collective, static_cast<std::int64_t>(request.members.size()), request.root,
              request.distance},
      partitions_{std::move(request.partitions)},
      switches_reduce_{request.switches_reduce} {
  const std::span<const EndpointId> members = request.members;
  if (members.size() < 2) return;
  for (const Partition& partition : partitions_)
    LOCKSTEP_CHECK(partition.members() == demand_.members());
  std::vector<EndpointId> all{members.begin(), members.end()};
  all.insert(all.end(), request.auxiliary_ranks.begin(), request.auxiliary_ranks.end());
  if (!switches_reduce_) reduce_steps_ = total_reduce_steps(request.network, all);
  if (all.size() > kAllPairs) {
    latency_ = farthest_probe(request.network, members, demand_);
    return;
  }
  const EndPointRoutes routes{request.network, all, request.model == NetworkModel::alpha_beta};
  if (auto ports = routes.ports(members.size()))
    partitions_.insert(partitions_.begin(), std::move(*ports));
  latency_ = routes.farthest(demand_);
}

LowerBound bound_on_run(LowerBound bound, Duration simulated, std::uint64_t messages) {
  const Duration rounding = Duration::picoseconds(static_cast<std::int64_t>(messages));
  if (bound.time() > simulated + rounding) return bound;
  for (Duration* part : {&bound.latency, &bound.bandwidth, &bound.reduction})
    *part = std::min(*part, simulated);
  return bound;
}

LowerBound CollectiveBound::at(Bytes message) const {
  LowerBound bound{.latency = latency_, .bandwidth = {}, .reduction = {}, .tightest_cut = {}};
  if (demand_.members() < 2) return bound;
  for (const Partition& partition : partitions_) {
    const EdgeTimes edges = partition.least_times(demand_, message);
    const Duration least = switches_reduce_ ? edges.each : edges.longest();
    if (least <= bound.bandwidth) continue;
    bound.bandwidth = least;
    bound.tightest_cut = partition.name();
  }
  if (reduce_steps_ > 0)
    bound.reduction = floor_time(repeated_work(message, demand_.additions()), reduce_steps_);
  return bound;
}

}  // namespace lockstep
