#pragma once

#include <vector>

#include "sim/program/operation.hpp"
#include "tests/strategies/models/array.hpp"

namespace lockstep::testing {

/// What an operation's results are, by the words of sim/program/operation.hpp and nothing else: a
/// plain reference, without regard to time. Gradient operations of what is not a product are the
/// forward ones pulled back by differences. `shapes`: of the results.
[[nodiscard]] std::vector<Array> evaluate(const Operation& operation,
                                          const std::vector<Array>& reads,
                                          const std::vector<std::vector<Extent>>& shapes);

}  // namespace lockstep::testing
