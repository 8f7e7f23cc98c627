#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/program/operation.hpp"
#include "sim/program/tensor.hpp"

/// A model as one device computes it: a chain of blocks with their forward and backward operations
/// on whole tensors. Strategies rewrite it (strategies/sharding).
namespace lockstep {

/// What the model does at one position of the chain. Operations name tensors of this position
/// (Ref::further 0); the residual stream that leaves is that of the next (further 1).
struct Block {
  std::string name;  // "embedding", "layer", "head"
  std::vector<Operation> forward{};
  std::vector<Operation> backward{};
  /// The residual stream, where it comes in (further 0) and leaves (further 1): none at the ends of
  /// the chain. Neighbours agree: the output tensor of a block is the input tensor of the next.
  std::optional<TensorId> input{};
  std::optional<TensorId> output{};
  std::optional<TensorId> input_gradient{};   // further 0, written by backward
  std::optional<TensorId> output_gradient{};  // further 1, read by backward
  /// In the order in which forward first uses them. Weight i's gradient is gradients[i]; both have
  /// scope `layer` and are resident; the gradient is added to (Operation::accumulate). A tied
  /// weight is listed where it lives (ModelGraph::Tied::first) and nowhere else.
  std::vector<TensorId> weights{};
  std::vector<TensorId> gradients{};
  /// The operations (indices into forward) between the projections of attention: what selective
  /// recomputation does again.
  std::vector<std::size_t> attention_core{};
};

struct ModelGraph {
  std::vector<Tensor> tensors{};
  std::vector<Block> blocks{};  // the kinds
  /// Per position: index into blocks. The first takes the data in, the last has the loss, those
  /// between are the layers.
  std::vector<int> chain{};
  /// What comes from the data loader: tokens, labels, images. Resident, scope `microbatch`.
  std::vector<TensorId> inputs{};
  std::optional<TensorId> loss{};
  /// A weight that two positions share (tied embeddings): the tensor, and the second position,
  /// where the block uses Ref::position = first. Empty where nothing is shared.
  struct Tied {
    TensorId weight = 0;
    TensorId gradient = 0;
    int first = 0;
    int second = 0;
  };
  std::optional<Tied> tied{};
};

}  // namespace lockstep
