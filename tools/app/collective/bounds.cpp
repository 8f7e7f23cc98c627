#include "tools/app/collective/bounds.hpp"

#include "tools/app/collective/setup/partitions.hpp"

namespace lockstep::app {

CollectiveBound bound_on(const CollectiveSetup& setup, const Network& network,
                         const BoundCase& of) {
  const auto ranks = static_cast<std::size_t>(setup.ranks());
  const bool switches = of.auxiliary_ranks == AuxiliaryRanks::node_switches ||
                        of.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
  const std::size_t hosts = switches ? 0 : of.members.size() - ranks;
  return CollectiveBound({.collective = of.collective,
                          .network = network,
                          .members = of.members.first(ranks),
                          .auxiliary_ranks = of.members.subspan(ranks),
                          .partitions = partitions_of(setup.cluster(), network, setup.model(),
                                                      static_cast<int>(hosts)),
                          .root = of.root,
                          .distance = of.distance,
                          .model = setup.model(),
                          .switches_reduce = switches});
}

std::string source_of(const LowerBound& bound) {
  if (bound.time() == bound.bandwidth && bound.bandwidth > Duration{}) return bound.tightest_cut;
  return bound.time() == bound.reduction && bound.reduction > bound.latency ? "reduction"
                                                                            : "latency";
}

}  // namespace lockstep::app
