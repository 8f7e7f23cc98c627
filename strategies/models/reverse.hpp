#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "strategies/models/block_builder.hpp"

namespace lockstep {

/// Whether it casts an activation to an operand of GEMMs in at most 8 bits.
[[nodiscard]] bool casts_operand(const Operation& operation);

/// The reads of an operation that have gradients, in order: activations and weights. Gradients come
/// from its first write.
[[nodiscard]] std::vector<Ref> differentiable_reads(const Operation& operation);

/// State of the reverse pass of one block: gradients known so far.
class Reverse {
 public:
  Reverse(GraphBuilder& graph, Block& block, int last_fused);

  /// Whether the gradient of a tensor is needed.
  [[nodiscard]] bool wanted(const Ref& ref) const { return !unwanted_.contains(key(ref)); }
  /// What a GEMM in `math` reads for `gradient`: its cast, if the recipe stores that.
  [[nodiscard]] Ref operand(const Ref& gradient, const Operation& gemm);
  /// What this is a cast of. The gradient of a cast is that of its source.
  [[nodiscard]] Ref source_of(const Ref& ref) const { return graph_.source_of(ref); }
  /// The complete gradient of a written tensor.
  [[nodiscard]] Ref gradient_of(const Ref& written) const;
  /// A gradient operation with the attributes of `forward`. Append its results with summand(), then
  /// call add().
  [[nodiscard]] Operation made(const Operation& forward, OperationKind kind,
                               const std::string& suffix, std::vector<Ref> reads) const;
  /// The tensor to which one use of `of` writes its contribution to the gradient.
  [[nodiscard]] Ref summand(const Ref& of);
  /// Appends an operation to backward.
  void add(Operation operation) { block_.backward.push_back(std::move(operation)); }
  /// Records that `at`, which may have other readers, is the contribution of one use of `of`.
  void arrived(const Ref& of, const Ref& at);
  /// Adds what the block contributes to the gradient of an activation of another position.
  void add_to_shared();
  [[nodiscard]] int next_fused() { return ++last_fused_; }
  [[nodiscard]] const BuildOptions& options() const { return graph_.options; }
  /// A tensor of the same shape and precision.
  [[nodiscard]] Ref new_gradient(const Ref& of, const std::string& suffix);
  [[nodiscard]] const Tensor& tensor(const Ref& ref) const {
    return graph_.graph.tensors.at(ref.tensor);
  }
  [[nodiscard]] bool is_weight(const Ref& ref) const { return graph_.is_weight(ref.tensor); }
  [[nodiscard]] const Block& block() const { return block_; }

 private:
  using Key = std::tuple<TensorId, int, int>;
  [[nodiscard]] Key key(const Ref& ref) const {
    const Ref of = source_of(ref);
    return {of.tensor, of.further, of.position.value_or(-1)};
  }
  void count_uses();
  /// The tensor of the accumulated gradient.
  [[nodiscard]] Ref whole_gradient(const Ref& of);

  GraphBuilder& graph_;
  Block& block_;
  int last_fused_ = 0;
  std::set<Key> unwanted_{};
  std::map<Key, int> uses_left_{};
  std::map<Key, Ref> sums_{};
  std::map<Key, Ref> casts_{};  // of gradients
};

/// Appends the gradient operations of forward operations that are differentiated together: a single
/// one, or the GEMMs of one fused number.
void reverse_rule(Reverse& reverse, std::span<const Operation> together);

}  // namespace lockstep
