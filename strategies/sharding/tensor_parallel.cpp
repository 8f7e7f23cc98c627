#include "strategies/sharding/cut_rules.hpp"

namespace lockstep {

void cut_for_tensor_parallelism(CutRules& rules, const Mesh& mesh) {
  const Atoms tp = mesh.axis("tp");
  rules.cuts[Dim::heads] = tp;
  rules.cuts[Dim::ffn] = tp;
  rules.cuts[Dim::vocabulary] = tp;
  rules.cuts[Dim::kv_heads] = mesh.axis("tp_kv");
}

}  // namespace lockstep
