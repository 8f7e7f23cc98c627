#include "strategies/sharding/sharding_rules.hpp"

namespace lockstep {

void cut_for_sequence_parallelism(ShardingRules& rules, const Mesh& mesh) {
  rules.between = mesh.axis("tp");
}

}  // namespace lockstep
