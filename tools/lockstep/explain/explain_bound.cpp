#include "tools/lockstep/explain/explain_bound.hpp"

#include <fmt/format.h>

#include <span>

#include "strategies/collectives/collective_bound.hpp"
#include "tools/lockstep/partitions.hpp"

namespace lockstep::cli {

namespace {

LowerBound bound_of(const Stage& stage, const CollectiveAlgorithm& algorithm) {
  const std::span<const EndpointId> all = stage.members;
  const auto workers = static_cast<std::size_t>(stage.input.n);
  const std::size_t hosts = algorithm.helpers == Helpers::hosts ? all.size() - workers : 0;
  const auto distance = static_cast<int>(stage.input.number("distance").value_or(1));
  return CollectiveBound(algorithm.collective, stage.arena->network(), all.first(workers),
                         all.subspan(workers),
                         partitions_of(stage.arena->cluster(), static_cast<int>(hosts)),
                         stage.input.root, distance)
      .at(stage.layout.size);
}

}  // namespace

std::vector<BoundTerm> explain_bound(const Stage& stage, const CollectiveAlgorithm& algorithm) {
  if (stage.input.n < 2) return {};
  const LowerBound bound = bound_of(stage, algorithm);
  const bool in_network =
      algorithm.helpers == Helpers::node_switches || algorithm.helpers == Helpers::fabric_switches;
  std::vector<BoundTerm> out = {
      {"latency", "between the two furthest that must hear of each other", bound.latency}};
  if (in_network) {
    if (bound.bandwidth_with_switches > Duration{})
      out.push_back({"bandwidth", "also where switches add up", bound.bandwidth_with_switches});
    return out;
  }
  if (bound.bandwidth > Duration{})
    out.push_back({"bandwidth", fmt::format("of the {}", bound.tightest_cut), bound.bandwidth});
  if (bound.reduction > Duration{})
    out.push_back({"reduction", "all additions, shared by all", bound.reduction});
  return out;
}

}  // namespace lockstep::cli
