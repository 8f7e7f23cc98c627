#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

void cut_for_tensor_parallelism(ShardingRules& rules, const Mesh& mesh) {
  const MeshSubAxes tp = mesh.axis("tp");
  rules.cuts[Dim::heads] = tp;
  rules.cuts[Dim::ffn] = tp;
  rules.cuts[Dim::vocabulary] = tp;
  rules.cuts[Dim::kv_heads] = mesh.axis("tp_kv");
}

}  // namespace lockstep
