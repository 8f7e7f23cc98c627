#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "strategies/models/build_model.hpp"

/// Builders of blocks: operations are appended to `forward`, backward is derived.
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
  /// Full size of one dimension of a tensor. InternalError if it has no such dimension.
  [[nodiscard]] std::int64_t size(TensorId tensor, Dim dim) const;
  /// A boundary with these extents in the activations' dtype.
  Boundary boundary(const std::string& name, const std::vector<Extent>& extents);
  /// A tensor provided by the data loader.
  TensorId input(std::string name, std::vector<Extent> extents, Dtype dtype);
  /// A weight and its gradient.
  TensorId weight(std::string name, std::vector<Extent> extents);
  [[nodiscard]] bool is_weight(TensorId tensor) const { return gradients_.contains(tensor); }
  [[nodiscard]] bool is_input(TensorId tensor) const;
  [[nodiscard]] TensorId gradient_of_weight(TensorId weight) const { return gradients_.at(weight); }
  /// The cast of `x` to `math`, to a tensor of its own, if GEMMs in `math` read one.
  [[nodiscard]] std::optional<Operation> cast_of(const Ref& x, Dtype math);
  /// Has the gradient of a tensor in `math` of BuildOptions.
  void narrow_gradient(TensorId tensor) { narrow_gradients_.insert(tensor); }
  [[nodiscard]] Dtype gradient_dtype(TensorId tensor) const;
  /// What this is a cast of; the tensor itself if it is none.
  [[nodiscard]] Ref source_of(const Ref& ref) const;

  BuildOptions options;
  ModelGraph graph{};
  /// Has later positions read an activation of this one.
  void share(TensorId value, int position);

 private:
  std::map<TensorId, TensorId> gradients_{};
  std::map<TensorId, Ref> sources_{};  // of casts to operands of GEMMs
  std::set<TensorId> narrow_gradients_{};
};

/// One block under construction.
class BlockBuilder {
 public:
  BlockBuilder(GraphBuilder& graph, std::string name, std::optional<Boundary> input,
               std::optional<Boundary> output);

  /// The residual stream at the block's input and output.
  [[nodiscard]] Ref input() const;
  [[nodiscard]] Ref output() const;

  Ref weight(const std::string& name, std::vector<Extent> extents);
  /// What begins the names of all tensors, weights and operations from now on.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// A tensor that lives within a pass.
  Ref tensor(const std::string& name, std::vector<Extent> extents,
             std::optional<Dtype> dtype = std::nullopt);
  /// A tensor with the extents of another.
  Ref like(const std::string& name, const Ref& other, std::optional<Dtype> dtype = std::nullopt);
  [[nodiscard]] const std::vector<Extent>& extents(const Ref& ref) const;

  /// Appends a forward operation; the reference is valid until the next append.
  Operation& append(OperationKind kind, std::string name, std::vector<Ref> reads,
                    std::vector<Ref> writes);
  /// y = x w (+ bias); `bias` empty: none. In `math`, of BuildOptions if none.
  Operation& matmul(std::string name, const Ref& x, const Ref& w, const std::optional<Ref>& bias,
                    const Ref& y, std::optional<Dtype> math = std::nullopt);
  void set_between_stacks() { block_.between_stacks = true; }
  /// GEMMs from now on run as the activations.
  void widen() { narrow_ = false; }
  [[nodiscard]] Dtype attention_math() const {
    return narrow_ ? options().attention_math() : options().wide_math();
  }
  /// Whether tokens travel to experts in `math` of BuildOptions, and what is dispatched for x.
  [[nodiscard]] bool dispatches_narrow() const;
  [[nodiscard]] Ref dispatched(const Ref& x);
  /// What an activation function reads for x: its cast, appended, if the recipe stores that.
  [[nodiscard]] Ref activation_input(const Ref& x);
  /// A new number for GEMMs that are fused.
  int next_fused() { return ++last_fused_; }
  /// The same for GEMMs of one input; negative if the form does not join them.
  int join() { return options().form.joined_gemms ? next_fused() : -next_fused(); }

  [[nodiscard]] GraphBuilder& graph() { return graph_; }
  [[nodiscard]] const BuildOptions& options() const { return graph_.options; }

  /// Derives backward and adds the block to the graph; returns its index. Without `input_gradient`,
  /// none is computed for the incoming stream.
  int finish(bool input_gradient = true);

 private:
  GraphBuilder& graph_;
  Block block_{};
  std::optional<Boundary> input_;
  std::optional<Boundary> output_;
  /// What a GEMM in `math` reads for x: its cast, made where x is, if the recipe stores that.
  [[nodiscard]] Ref operand(const Ref& x, Dtype math);
  void insert(std::size_t at, Operation operation);

  int last_fused_ = 0;
  std::string prefix_{};
  bool narrow_ = true;
  std::vector<std::pair<Ref, Ref>> casts_{};
};

}  // namespace lockstep
