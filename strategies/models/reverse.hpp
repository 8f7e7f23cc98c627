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

/// The reads of an operation through which gradients flow back, in order: activations and weights.
/// Gradients come from what it writes first.
[[nodiscard]] std::vector<Ref> differentiable_reads(const Operation& operation);

/// The state of one block's reverse pass: which gradient of which tensor is known so far.
class Reverse {
 public:
  Reverse(GraphBuilder& graph, Block& block, int last_fused);

  /// Whether anybody needs the gradient of a tensor.
  [[nodiscard]] bool wanted(const Ref& ref) const { return !unwanted_.contains(key(ref)); }
  /// The gradient of what an operation wrote, complete.
  [[nodiscard]] Ref gradient_of(const Ref& written) const;
  /// A gradient operation for `forward`, its attributes taken over. Append its summands to writes
  /// with summand(), then hand it to add().
  [[nodiscard]] Operation made(const Operation& forward, OperationKind kind,
                               const std::string& suffix, std::vector<Ref> reads) const;
  /// Where one use of `read` writes its summand of the gradient.
  [[nodiscard]] Ref summand(const Ref& read);
  /// Appends it.
  void add(Operation operation) { block_.backward.push_back(std::move(operation)); }
  /// The summand of one use of `read` stands in `at`, which may be a tensor that others read too.
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
  /// The tensor that the whole gradient ends up in.
  [[nodiscard]] Ref whole_gradient(const Ref& of);

  GraphBuilder& graph_;
  Block& block_;
  int last_fused_ = 0;
  std::set<Key> unwanted_{};
  std::map<Key, int> uses_left_{};
  std::map<Key, Ref> sums_{};
};

/// Appends the gradient operations of forward operations that are differentiated together: one, or
/// the products of one fused number.
void reverse_rule(Reverse& reverse, std::span<const Operation> together);

}  // namespace lockstep
