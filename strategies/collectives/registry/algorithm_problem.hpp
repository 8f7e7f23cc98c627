#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {

/// Why an input of an algorithm is invalid.
struct AlgorithmProblem {
  std::string_view algorithm;  // that the message is about; empty: the message names its subject
  std::string message;         // "shards is 1 to 4 (the number of ranks), got 5"

  /// "parameter_server: shards is 1 to 4 (the number of ranks), got 5".
  [[nodiscard]] std::string text() const;
};

/// As validate(), with the algorithm apart from the message.
[[nodiscard]] std::vector<AlgorithmProblem> algorithm_problems(const CollectiveAlgorithm& algorithm,
                                                               const AlgorithmInput& input);

}  // namespace lockstep
