#pragma once

#include <vector>

#include "tests/simgrid/case_builder.hpp"

namespace lockstep {

/// Random contended traffic on five fabrics (an incast star, an oversubscribed fat tree, a 2D
/// torus, a dragonfly, nodes whose GPUs share NICs), every second case with staggered starts. The
/// same cases on every machine.
[[nodiscard]] std::vector<TrafficCase> contended_cases();

}  // namespace lockstep
