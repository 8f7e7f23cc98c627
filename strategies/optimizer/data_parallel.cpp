#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

void cut_for_data_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.cuts[Dim::batch] = mesh.axis("dp");
}

ShardingRules sharding_rules(const ParallelConfig& parallel, const Mesh& mesh) {
  ShardingRules rules;
  cut_for_data_parallelism(rules, mesh);
  cut_for_tensor_parallelism(rules, mesh);
  cut_for_context_parallelism(rules, mesh);
  if (parallel.sequence_parallel) cut_for_sequence_parallelism(rules, mesh);
  cut_for_expert_parallelism(rules, mesh);
  return rules;
}

}  // namespace lockstep
