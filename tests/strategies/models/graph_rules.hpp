#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/models/model_graph.hpp"

namespace lockstep::testing {

/// What is wrong with a model's graph by the rules of strategies/models/model_graph.hpp, one
/// sentence each: reads of what nobody has written, GEMMs whose dimensions do not fit, weights
/// without a gradient, neighbours that do not agree about the stream, results that nobody reads.
[[nodiscard]] std::vector<std::string> graph_problems(const ModelGraph& graph);

/// A tensor that a block's forward operations write or read in their own scope and its backward
/// operations read: what the forward pass leaves. Weights and inputs are not among them.
struct Kept {
  std::string name;
  std::int64_t bytes = 0;
};
[[nodiscard]] std::vector<Kept> kept_for_backward(const ModelGraph& graph, const Block& block);

[[nodiscard]] const Block& block_named(const ModelGraph& graph, const std::string& name);

/// Elements of the weights of one block, or of all positions of the chain.
[[nodiscard]] std::int64_t weight_elements(const ModelGraph& graph, const Block& block);
[[nodiscard]] std::int64_t weight_elements(const ModelGraph& graph);

}  // namespace lockstep::testing
