#include "tools/app/explain/explain_bound.hpp"

#include "tools/app/collective/bounds.hpp"

namespace lockstep::app {

LowerBound bound_of(const Stage& stage, const CollectiveAlgorithm& algorithm) {
  const auto distance = static_cast<int>(stage.input.number("distance").value_or(1));
  const BoundCase bounded{algorithm.collective, stage.members, algorithm.auxiliary_ranks,
                          stage.input.root, distance};
  return bound_on(*stage.setup, stage.setup->network(), bounded).at(stage.layout.size);
}

std::vector<BoundTerm> terms_of(const LowerBound& bound, AuxiliaryRanks auxiliary_ranks) {
  const bool switches = auxiliary_ranks == AuxiliaryRanks::node_switches ||
                        auxiliary_ranks == AuxiliaryRanks::fabric_switches;
  using Kind = BoundTerm::Kind;
  std::vector<BoundTerm> out = {{Kind::latency, bound.latency}};
  if (bound.bandwidth > Duration{})
    out.push_back({Kind::bandwidth, bound.bandwidth, bound.tightest_cut, switches});
  if (bound.reduction > Duration{}) out.push_back({Kind::reduction, bound.reduction});
  return out;
}

}  // namespace lockstep::app
