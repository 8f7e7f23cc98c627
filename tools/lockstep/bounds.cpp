#include "tools/lockstep/bounds.hpp"

#include "tools/lockstep/partitions.hpp"

namespace lockstep::cli {

CollectiveBound bound_on(const Arena& arena, const Network& network, const BoundCase& played) {
  const auto ranks = static_cast<std::size_t>(arena.ranks());
  const bool switches =
      played.helpers == Helpers::node_switches || played.helpers == Helpers::fabric_switches;
  const std::size_t hosts = switches ? 0 : played.members.size() - ranks;
  return CollectiveBound({.collective = played.collective,
                          .network = network,
                          .members = played.members.first(ranks),
                          .helpers = played.members.subspan(ranks),
                          .partitions = partitions_of(arena.cluster(), network, arena.model(),
                                                      static_cast<int>(hosts)),
                          .root = played.root,
                          .distance = played.distance,
                          .model = arena.model(),
                          .switches_reduce = switches});
}

std::string source_of(const LowerBound& bound) {
  if (bound.time() == bound.bandwidth && bound.bandwidth > Duration{}) return bound.tightest_cut;
  return bound.time() == bound.reduction && bound.reduction > bound.latency ? "reduction"
                                                                            : "latency";
}

}  // namespace lockstep::cli
