#include "strategies/pipeline/delayed_weight_gradients.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "strategies/pipeline/recomputed_modules.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool exchanges_slots(const Operation& operation) {
  return operation.communication && operation.communication->group == "ep" &&
         operation.communication->collective == Collective::all_to_all;
}

[[nodiscard]] bool has_tokens(const std::vector<Tensor>& tensors, const Ref& slots) {
  return find_extent(tensors[slots.tensor], Dim::hidden) != nullptr;
}

enum class Module { experts, attention, other };

[[nodiscard]] Module module_of(const Operation& operation) {
  const std::string_view name = name_in_layer(operation);
  if (name.starts_with("experts.") || name.starts_with("shared.")) return Module::experts;
  if (name.starts_with("attention.")) return Module::attention;
  return Module::other;
}

/// Of a linear layer: its GEMM, and the sum for its bias.
[[nodiscard]] bool is_linear(const Operation& operation) {
  return operation.kind == OperationKind::matmul || operation.kind == OperationKind::bias_gradient;
}

/// Moves operations to the end of others.
void flush(std::vector<Operation>& from, std::vector<Operation>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

bool exchanges_tokens(const std::vector<Tensor>& tensors, const Operation& operation) {
  return exchanges_slots(operation) && has_tokens(tensors, operation.reads.front());
}

bool carries_weights(const std::vector<Tensor>& tensors, const Operation& operation) {
  return operation.kind == OperationKind::dispatch_weights ||
         (exchanges_slots(operation) && !has_tokens(tensors, operation.reads.front()));
}

bool computes_weight_gradients(const std::vector<Tensor>& tensors, const Operation& operation) {
  return !operation.writes.empty() &&
         std::all_of(operation.writes.begin(), operation.writes.end(), [&](const Ref& ref) {
           return tensors[ref.tensor].category == Category::gradient;
         });
}

DelayedBackward delay_weight_gradients(const ModelGraph& graph, const Block& block) {
  DelayedBackward out;
  std::vector<Operation> of_experts;
  bool routed = false;    // `of_experts` has those of experts that tokens travel to
  bool launched = false;  // what returns their gradients
  for (const Operation& operation : block.backward) {
    const bool follows =
        exchanges_tokens(graph.tensors, operation) || carries_weights(graph.tensors, operation);
    if (launched && !follows) {
      flush(of_experts, out.backward);
      routed = launched = false;
    }
    launched = launched || (routed && exchanges_tokens(graph.tensors, operation));
    const bool moves = is_linear(operation) && computes_weight_gradients(graph.tensors, operation);
    const Module module = moves ? module_of(operation) : Module::other;
    if (module == Module::attention) {
      out.weight_gradients.push_back(operation);
    } else if (module == Module::experts) {
      routed = routed || name_in_layer(operation).starts_with("experts.");
      of_experts.push_back(operation);
    } else {
      out.backward.push_back(operation);
    }
  }
  flush(of_experts, out.backward);
  return out;
}

}  // namespace lockstep
