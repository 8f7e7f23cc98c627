#include "strategies/sharding/cuts.hpp"
#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

void cut_for_expert_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.cuts[Dim::expert] = mesh.axis("ep");
  rules.cuts[Dim::slot] = joined(mesh.axis("edp"), rules.between);
}

}  // namespace lockstep
