#pragma once

#include <utility>
#include <vector>

#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// The two halves of a backward pass in zero-bubble schedules (Qi et al., arXiv 2401.10241):
/// gradients that the previous stage waits for, and gradients of weights with their communication.
struct SplitBackward {
  std::vector<Operation> input_gradients;
  std::vector<Operation> weight_gradients;
};
[[nodiscard]] SplitBackward split_backward(const ModelGraph& graph, const Block& block);

}  // namespace lockstep
