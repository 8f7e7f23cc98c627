#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

void cut_for_context_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.cuts[Dim::sequence] = mesh.axis("cp");
  rules.attention_sequence = mesh.axis("ring");
  rules.attention_heads = mesh.axis("ulysses");
  rules.attention_kv_heads = mesh.axis("ulysses_kv");
}

}  // namespace lockstep
