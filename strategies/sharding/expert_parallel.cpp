#include "strategies/sharding/cut_rules.hpp"
#include "strategies/sharding/cuts.hpp"

namespace lockstep {

void cut_for_expert_parallelism(CutRules& rules, const Mesh& mesh) {
  rules.cuts[Dim::expert] = mesh.axis("ep");
  rules.cuts[Dim::slot] = joined(mesh.axis("edp"), rules.between);
}

}  // namespace lockstep
