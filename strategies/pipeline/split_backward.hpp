#pragma once

#include <utility>
#include <vector>

#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// The two halves of a backward pass that zero-bubble pipelines schedule apart (Qi et al., arXiv
/// 2401.10241): what the stage before waits for, and the gradients of weights, with the
/// communication that only these need.
struct SplitBackward {
  std::vector<Operation> input_gradients;
  std::vector<Operation> weight_gradients;
};
[[nodiscard]] SplitBackward split_backward(const ModelGraph& graph, const Block& block);

}  // namespace lockstep
