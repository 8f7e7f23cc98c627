#pragma once

#include <vector>

#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Whether it is an all-to-all of experts' tokens, or of their gradients.
[[nodiscard]] bool exchanges_tokens(const std::vector<Tensor>& tensors, const Operation& operation);
/// Whether it carries the router's weights after the tokens, or their gradients.
[[nodiscard]] bool carries_weights(const std::vector<Tensor>& tensors, const Operation& operation);
/// Whether it computes gradients of weights and nothing else.
[[nodiscard]] bool computes_weight_gradients(const std::vector<Tensor>& tensors,
                                             const Operation& operation);

/// A backward pass of which GEMMs for gradients of weights are put off (Megatron-Core's
/// delay_wgrad_compute, core/models/gpt/fine_grained_callables.py): those of experts, shared ones
/// included, until the all-to-all that returns the gradients of their inputs is launched; those of
/// attention until the whole pass is over. GEMMs of routers, of plain MLPs and of the output layer
/// stay.
struct DelayedBackward {
  std::vector<Operation> backward;
  std::vector<Operation> weight_gradients;  // of attention
};
[[nodiscard]] DelayedBackward delay_weight_gradients(const ModelGraph& graph, const Block& block);

}  // namespace lockstep
