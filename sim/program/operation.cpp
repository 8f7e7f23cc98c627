#include "sim/program/operation.hpp"

#include <array>

namespace lockstep {

namespace {

struct Row {
  OperationKind kind;
  std::string_view name;
  OperationClass of;
};

using Kind = OperationKind;
using Class = OperationClass;

constexpr std::array kRows{
    Row{Kind::matmul, "matmul", Class::matmul},
    Row{Kind::bias_gradient, "bias_gradient", Class::elementwise},
    Row{Kind::attention, "attention", Class::attention},
    Row{Kind::attention_backward, "attention_backward", Class::attention},
    Row{Kind::attention_scores, "attention_scores", Class::attention},
    Row{Kind::attention_scores_backward, "attention_scores_backward", Class::attention},
    Row{Kind::softmax, "softmax", Class::attention},
    Row{Kind::softmax_backward, "softmax_backward", Class::attention},
    Row{Kind::attention_context, "attention_context", Class::attention},
    Row{Kind::attention_context_backward, "attention_context_backward", Class::attention},
    Row{Kind::normalization, "normalization", Class::normalization},
    Row{Kind::normalization_backward, "normalization_backward", Class::normalization},
    Row{Kind::activation, "activation", Class::activation},
    Row{Kind::activation_backward, "activation_backward", Class::activation},
    Row{Kind::rotary, "rotary", Class::elementwise},
    Row{Kind::rotary_backward, "rotary_backward", Class::elementwise},
    Row{Kind::dropout, "dropout", Class::elementwise},
    Row{Kind::dropout_backward, "dropout_backward", Class::elementwise},
    Row{Kind::add, "add", Class::elementwise},
    Row{Kind::embedding, "embedding", Class::embedding},
    Row{Kind::embedding_backward, "embedding_backward", Class::embedding},
    Row{Kind::loss_maximum, "loss_maximum", Class::loss},
    Row{Kind::loss_sum, "loss_sum", Class::loss},
    Row{Kind::loss, "loss", Class::loss},
    Row{Kind::loss_backward, "loss_backward", Class::loss},
    Row{Kind::router, "router", Class::routing},
    Row{Kind::router_backward, "router_backward", Class::routing},
    Row{Kind::dispatch, "dispatch", Class::routing},
    Row{Kind::dispatch_backward, "dispatch_backward", Class::routing},
    Row{Kind::combine, "combine", Class::routing},
    Row{Kind::combine_backward, "combine_backward", Class::routing},
    Row{Kind::convolution, "convolution", Class::convolution},
    Row{Kind::convolution_input_grad, "convolution_input_grad", Class::convolution},
    Row{Kind::convolution_weight_grad, "convolution_weight_grad", Class::convolution},
    Row{Kind::batch_norm, "batch_norm", Class::normalization},
    Row{Kind::batch_norm_backward, "batch_norm_backward", Class::normalization},
    Row{Kind::pool, "pool", Class::elementwise},
    Row{Kind::pool_backward, "pool_backward", Class::elementwise},
    Row{Kind::temporal_shift, "temporal_shift", Class::elementwise},
    Row{Kind::temporal_shift_backward, "temporal_shift_backward", Class::elementwise},
    Row{Kind::fill, "fill", Class::elementwise},
    Row{Kind::scale, "scale", Class::elementwise},
    Row{Kind::cast, "cast", Class::elementwise},
    Row{Kind::slice, "slice", Class::copy},
    Row{Kind::update, "update", Class::optimizer},
    Row{Kind::collective, "collective", Class::communication},
    Row{Kind::send, "send", Class::communication},
    Row{Kind::receive, "receive", Class::communication},
    Row{Kind::host_copy, "host_copy", Class::communication},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Kind::host_copy) + 1;
}
static_assert(in_order(), "rows stand in the order of OperationKind");

}  // namespace

std::string_view to_string(OperationKind kind) {
  return kRows[static_cast<std::size_t>(kind)].name;
}

OperationClass class_of(OperationKind kind) {
  return kRows[static_cast<std::size_t>(kind)].of;
}

std::string_view to_string(OperationClass of) {
  static constexpr std::array<std::string_view, 12> kNames{
      "matmul", "attention", "normalization", "activation", "elementwise", "embedding",
      "loss",   "routing",   "convolution",   "optimizer",  "copy",        "communication"};
  return kNames[static_cast<std::size_t>(of)];
}

std::string_view to_string(Purpose purpose) {
  static constexpr std::array<std::string_view, 5> kNames{"forward", "backward", "recompute",
                                                          "update", "communication"};
  return kNames[static_cast<std::size_t>(purpose)];
}

}  // namespace lockstep
