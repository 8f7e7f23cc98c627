#pragma once

#include "tools/lockstep/collective/collective_question.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// The sizes, to the element, at which the fastest contestant of a collective changes. Between two
/// neighbouring sizes of the question with different winners the change is found by bisection; a
/// winner that leads only between two of them is not seen.
[[nodiscard]] Report run_crossover(const CollectiveQuestion& question);

}  // namespace lockstep::cli
