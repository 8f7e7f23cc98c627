#include "strategies/models/differentiate.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "strategies/models/reverse.hpp"

namespace lockstep {

namespace {

/// The operations that are differentiated with the last of `forward`: the GEMMs before it that
/// are fused with it, or itself alone.
[[nodiscard]] std::span<const Operation> last_together(std::span<const Operation> forward) {
  std::size_t count = 1;
  const int fused = forward.back().fused;
  while (fused != 0 && count < forward.size() &&
         forward[forward.size() - 1 - count].fused == fused) {
    ++count;
  }
  return forward.last(count);
}

}  // namespace

Reverse::Reverse(GraphBuilder& graph, Block& block, int last_fused)
    : graph_{graph}, block_{block}, last_fused_{last_fused} {
  if (block.input && !block.input_gradient) unwanted_.insert(key({.tensor = *block.input}));
  for (const TensorId input : graph.graph.inputs) unwanted_.insert(key({.tensor = input}));
  if (block.output_gradient) {
    const Ref gradient{.tensor = *block.output_gradient, .further = 1};
    sums_.emplace(key({.tensor = *block.output, .further = 1}), gradient);
  }
  // All later positions have added to it by then.
  if (graph.graph.shared)
    sums_.emplace(key({.tensor = graph.graph.shared->value}),
                  Ref{.tensor = graph.graph.shared->gradient});
  count_uses();
}

void Reverse::count_uses() {
  std::span<const Operation> left{block_.forward};
  for (const Operation& operation : left) {
    if (casts_operand(operation)) continue;
    const std::vector<Ref> reads = differentiable_reads(operation);
    const bool any =
        std::any_of(reads.begin(), reads.end(), [this](const Ref& read) { return wanted(read); });
    if (!any) {
      for (const Ref& written : operation.writes) unwanted_.insert(key(written));
    }
  }
  while (!left.empty()) {
    const auto together = last_together(left);
    std::set<Key> read_here;
    for (const Operation& operation : together) {
      if (casts_operand(operation)) continue;
      for (const Ref& read : differentiable_reads(operation)) read_here.insert(key(read));
    }
    for (const Key& read : read_here) ++uses_left_[read];
    left = left.first(left.size() - together.size());
  }
}

Ref Reverse::gradient_of(const Ref& written) const {
  const auto found = sums_.find(key(written));
  LOCKSTEP_CHECK(found != sums_.end());
  const auto left = uses_left_.find(key(written));
  LOCKSTEP_CHECK(left == uses_left_.end() || left->second == 0);
  return found->second;
}

Operation Reverse::made(const Operation& forward, OperationKind kind, const std::string& suffix,
                        std::vector<Ref> reads) const {
  Operation out = forward;
  out.kind = kind;
  out.name = forward.name + "." + suffix;
  out.purpose = Purpose::backward;
  out.reads = std::move(reads);
  out.writes.clear();
  out.fused = 0;
  return out;
}

Ref Reverse::new_gradient(const Ref& of, const std::string& suffix) {
  Tensor gradient = tensor(of);
  gradient.name += suffix;
  gradient.dtype = graph_.gradient_dtype(of.tensor);
  gradient.category = Category::buffer;
  return {.tensor = graph_.add(std::move(gradient))};
}

Ref Reverse::operand(const Ref& gradient, const Operation& gemm) {
  const Dtype math = gemm.math.value_or(Dtype::bf16);
  const auto known = casts_.find(key(gradient));
  if (known != casts_.end() && is_narrow(math)) return known->second;
  auto cast = graph_.cast_of(gradient, math);
  if (!cast) return gradient;
  cast->purpose = Purpose::backward;
  const Ref out = cast->writes.front();
  casts_.emplace(key(gradient), out);
  add(*std::move(cast));
  return out;
}

Ref Reverse::whole_gradient(const Ref& of) {
  if (block_.input && of == Ref{.tensor = *block_.input}) return {.tensor = *block_.input_gradient};
  return new_gradient(of, ".gradient");
}

Ref Reverse::summand(const Ref& of) {
  const Ref read = source_of(of);
  LOCKSTEP_CHECK(wanted(read));
  if (is_weight(read)) {
    Ref gradient = read;
    gradient.tensor = graph_.gradient_of_weight(read.tensor);
    return gradient;
  }
  const bool alone = uses_left_.at(key(read)) == 1 && !sums_.contains(key(read));
  return alone ? whole_gradient(read) : new_gradient(read, ".gradient.summand");
}

void Reverse::arrived(const Ref& of, const Ref& at) {
  const Ref read = source_of(of);
  if (is_weight(read)) return;
  const int left = --uses_left_.at(key(read));
  LOCKSTEP_CHECK(left >= 0);
  const auto sum = sums_.find(key(read));
  if (sum == sums_.end()) {
    // A gradient that is passed on as it is cannot become the boundary's own tensor.
    LOCKSTEP_CHECK(left > 0 || !(block_.input && read == Ref{.tensor = *block_.input}) ||
                   at.tensor == *block_.input_gradient);
    sums_.emplace(key(read), at);
    return;
  }
  Operation both;
  both.kind = OperationKind::add;
  both.name = tensor(read).name + ".gradient_sum";
  both.purpose = Purpose::backward;
  both.reads = {sum->second, at};
  both.writes = {left == 0 ? whole_gradient(read) : new_gradient(read, ".gradient.sum")};
  sum->second = both.writes.front();
  add(std::move(both));
}

void Reverse::add_to_shared() {
  if (!graph_.graph.shared) return;
  const auto own = sums_.find(key(graph_.graph.shared->read()));
  if (own == sums_.end()) return;
  Operation sum;
  sum.kind = OperationKind::add;
  sum.name = tensor(graph_.graph.shared->read()).name + ".gradient_sum";
  sum.purpose = Purpose::backward;
  sum.reads = {graph_.graph.shared->sum(), own->second};
  sum.writes = {graph_.graph.shared->sum()};
  add(std::move(sum));
}

void differentiate(GraphBuilder& graph, Block& block, int last_fused) {
  const std::vector<Operation> forward = block.forward;
  Reverse reverse{graph, block, last_fused};
  std::span<const Operation> left{forward};
  while (!left.empty()) {
    const auto together = last_together(left);
    if (casts_operand(together.front())) {
      left = left.first(left.size() - 1);
      continue;
    }
    const bool any = std::any_of(together.begin(), together.end(), [&](const Operation& operation) {
      const std::vector<Ref> reads = differentiable_reads(operation);
      return std::any_of(reads.begin(), reads.end(),
                         [&](const Ref& read) { return reverse.wanted(read); });
    });
    if (any) reverse_rule(reverse, together);
    left = left.first(left.size() - together.size());
  }
  reverse.add_to_shared();
}

}  // namespace lockstep
