#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/models/build_model.hpp"

/// How blocks are laid down: operations append to `forward`; the rest follows from them.
namespace lockstep {

/// The residual stream between two blocks, and its gradient.
struct Boundary {
  TensorId value = 0;
  TensorId gradient = 0;
};

/// A graph under construction: what all blocks share.
class GraphBuilder {
 public:
  explicit GraphBuilder(const BuildOptions& chosen) : options{chosen} {}

  TensorId add(Tensor tensor);
  /// Whole length of one dimension of a tensor. Errors: InternalError where it has none such.
  [[nodiscard]] std::int64_t size(TensorId tensor, Dim dim) const;
  /// A boundary of these extents in the dtype of activations.
  Boundary boundary(const std::string& name, const std::vector<Extent>& extents);
  /// What the data loader provides.
  TensorId input(std::string name, std::vector<Extent> extents, Dtype dtype);
  /// A weight and its gradient.
  TensorId weight(std::string name, std::vector<Extent> extents);
  [[nodiscard]] bool is_weight(TensorId tensor) const { return gradients_.contains(tensor); }
  [[nodiscard]] bool is_input(TensorId tensor) const;
  [[nodiscard]] TensorId gradient_of_weight(TensorId weight) const { return gradients_.at(weight); }

  BuildOptions options;
  ModelGraph graph{};

 private:
  std::map<TensorId, TensorId> gradients_{};
};

/// One block under construction.
class BlockBuilder {
 public:
  BlockBuilder(GraphBuilder& graph, std::string name, std::optional<Boundary> input,
               std::optional<Boundary> output);

  /// The residual stream as it comes in and as it leaves.
  [[nodiscard]] Ref input() const;
  [[nodiscard]] Ref output() const;

  Ref weight(const std::string& name, std::vector<Extent> extents);
  /// A tensor that lives from operation to operation.
  Ref tensor(const std::string& name, std::vector<Extent> extents,
             std::optional<Dtype> dtype = std::nullopt);
  /// Extents as those of another tensor.
  Ref like(const std::string& name, const Ref& other, std::optional<Dtype> dtype = std::nullopt);
  [[nodiscard]] const std::vector<Extent>& extents(const Ref& ref) const;

  /// Appends a forward operation; valid until the next is appended.
  Operation& append(OperationKind kind, std::string name, std::vector<Ref> reads,
                    std::vector<Ref> writes);
  /// y = x w (+ bias); `bias` empty: none.
  Operation& matmul(std::string name, const Ref& x, const Ref& w, const std::optional<Ref>& bias,
                    const Ref& y);
  /// A number that no product of the block has had, to fuse products with.
  int next_fused() { return ++last_fused_; }
  /// The same for products of one input; below zero where the form does not join them.
  int join() { return options().form.joined_gemms ? next_fused() : -next_fused(); }
  [[nodiscard]] std::size_t operations() const { return block_.forward.size(); }
  /// Operations first .. last - 1 are the core of attention.
  void attention_core(std::size_t first, std::size_t last);

  [[nodiscard]] GraphBuilder& graph() { return graph_; }
  [[nodiscard]] const BuildOptions& options() const { return graph_.options; }

  /// Differentiates what has been laid down and adds the block to the graph; returns its index.
  /// Without `input_gradient` none is computed for the stream that comes in.
  int finish(bool input_gradient = true);

 private:
  GraphBuilder& graph_;
  Block block_{};
  std::optional<Boundary> input_;
  std::optional<Boundary> output_;
  int last_fused_ = 0;
};

}  // namespace lockstep
