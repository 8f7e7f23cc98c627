#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/program/operation.hpp"
#include "sim/program/tensor.hpp"

/// A model on one device: a chain of blocks with forward and backward operations on unsharded
/// tensors. strategies/sharding rewrites it.
namespace lockstep {

/// The operations of the model at one position of the chain. They refer to tensors of this position
/// (Ref::further 0); the outgoing residual stream belongs to the next one (further 1).
struct Block {
  std::string name;  // "embedding", "layer", "head"
  std::vector<Operation> forward{};
  std::vector<Operation> backward{};
  /// The incoming (further 0) and outgoing (further 1) residual stream; none at the ends of the
  /// chain. The output tensor of a block is the input tensor of the next.
  std::optional<TensorId> input{};
  std::optional<TensorId> output{};
  std::optional<TensorId> input_gradient{};   // further 0, written by backward
  std::optional<TensorId> output_gradient{};  // further 1, read by backward
  /// In order of first use in forward. The gradient of weight i is gradients[i]; both have scope
  /// `layer` and are resident, and gradients accumulate (Operation::accumulate). A shared weight is
  /// listed only at the first of SharedWeight::positions.
  std::vector<TensorId> weights{};
  std::vector<TensorId> gradients{};
  /// Between two stacks of layers: kept as the ends of the chain are, never recomputed.
  bool between_stacks = false;
};

/// An activation of one position that blocks at later ones read, and its gradient, to which they
/// add.
struct SharedActivation {
  TensorId value = 0;
  TensorId gradient = 0;
  int position = 0;

  /// As other positions name them.
  [[nodiscard]] Ref read() const { return {.tensor = value, .position = position}; }
  [[nodiscard]] Ref sum() const { return {.tensor = gradient, .position = position}; }
};

/// A weight that several positions read (tied embeddings, tables of relative positions): the first
/// one lists it, the others name it by Ref::position.
struct SharedWeight {
  TensorId weight = 0;
  std::vector<int> positions{};  // ascending
};

struct ModelGraph {
  std::vector<Tensor> tensors{};
  std::vector<Block> blocks{};  // distinct ones
  /// Index into blocks per position. The first reads the data, the last computes the loss, the
  /// others are layers.
  std::vector<int> chain{};
  /// Tensors from the data loader: tokens, labels, images. Resident, scope `microbatch`.
  std::vector<TensorId> inputs{};
  std::optional<TensorId> loss{};
  std::vector<SharedWeight> shared_weights{};
  std::optional<SharedActivation> shared{};

  /// Null: a weight of one position alone.
  [[nodiscard]] const SharedWeight* shared_weight(TensorId weight) const {
    for (const SharedWeight& each : shared_weights)
      if (each.weight == weight) return &each;
    return nullptr;
  }
};

/// The position of the block between two stacks of layers.
[[nodiscard]] inline std::optional<int> between_stacks(const ModelGraph& graph) {
  for (std::size_t position = 0; position < graph.chain.size(); ++position)
    if (graph.blocks[static_cast<std::size_t>(graph.chain[position])].between_stacks)
      return static_cast<int>(position);
  return std::nullopt;
}

}  // namespace lockstep
