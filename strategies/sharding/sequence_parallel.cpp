#include "strategies/sharding/cut_rules.hpp"

namespace lockstep {

void cut_for_sequence_parallelism(CutRules& rules, const Mesh& mesh) {
  rules.between = mesh.axis("tp");
}

}  // namespace lockstep
