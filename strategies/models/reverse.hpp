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

/// The reads of an operation that have gradients, in order: activations and weights. Gradients come
/// from its first write.
[[nodiscard]] std::vector<Ref> differentiable_reads(const Operation& operation);

/// State of the reverse pass of one block: gradients known so far.
class Reverse {
 public:
  Reverse(GraphBuilder& graph, Block& block, int last_fused);

  /// Whether the gradient of a tensor is needed.
  [[nodiscard]] bool wanted(const Ref& ref) const { return !unwanted_.contains(key(ref)); }
  /// The complete gradient of a written tensor.
  [[nodiscard]] Ref gradient_of(const Ref& written) const;
  /// A gradient operation with the attributes of `forward`. Append its results with summand(), then
  /// call add().
  [[nodiscard]] Operation made(const Operation& forward, OperationKind kind,
                               const std::string& suffix, std::vector<Ref> reads) const;
  /// The tensor to which one use of `read` writes its contribution to the gradient.
  [[nodiscard]] Ref summand(const Ref& read);
  /// Appends an operation to backward.
  void add(Operation operation) { block_.backward.push_back(std::move(operation)); }
  /// Records that `at`, which may have other readers, is the contribution of one use of `read`.
  void arrived(const Ref& read, const Ref& at);
  [[nodiscard]] int next_fused() { return ++last_fused_; }
  [[nodiscard]] const ModelForm& form() const { return graph_.options.form; }
  /// A tensor of the same shape and precision.
  [[nodiscard]] Ref new_gradient(const Ref& of, const std::string& suffix);
  [[nodiscard]] const Tensor& tensor(const Ref& ref) const {
    return graph_.graph.tensors.at(ref.tensor);
  }
  [[nodiscard]] bool is_weight(const Ref& ref) const { return graph_.is_weight(ref.tensor); }
  [[nodiscard]] const Block& block() const { return block_; }

 private:
  using Key = std::tuple<TensorId, int, int>;
  [[nodiscard]] static Key key(const Ref& ref) {
    return {ref.tensor, ref.further, ref.position.value_or(-1)};
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
};

/// Appends the gradient operations of forward operations that are differentiated together: a single
/// one, or the GEMMs of one fused number.
void reverse_rule(Reverse& reverse, std::span<const Operation> together);

}  // namespace lockstep
