#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kExperts = 4;
constexpr std::int64_t kHidden = 3;

[[nodiscard]] Shape tokens(Dim last, std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, 3}, {last, size}};
}
[[nodiscard]] Shape slots(std::int64_t room) {
  return {{Dim::expert, kExperts}, {Dim::slot, room}, {Dim::hidden, kHidden}};
}

[[nodiscard]] GradientCase router() {
  GradientCase out;
  out.forward = operation_of(OperationKind::router, "router");
  out.reads = {spread("logits", tokens(Dim::expert, kExperts))};
  out.results = {zeros("weights", tokens(Dim::choice, 2)),
                 zeros("experts", tokens(Dim::choice, 2))};
  out.backward = OperationKind::router_backward;
  out.backward_reads = {x(0), y(0), y(1), gradient(0)};
  out.gradients_of = {0};
  out.terms = static_cast<int>(kExperts) + 2;
  return out;
}

[[nodiscard]] GradientCase dispatch(std::string name, std::int64_t room) {
  GradientCase out;
  out.forward = operation_of(OperationKind::dispatch, std::move(name));
  out.reads = {spread("x", tokens(Dim::hidden, kHidden)),
               numbers("experts", tokens(Dim::choice, 2), kExperts)};
  out.results = {zeros("slots", slots(room))};
  out.backward = OperationKind::dispatch_backward;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  out.terms = 2;
  return out;
}

[[nodiscard]] GradientCase combine(std::string name, std::int64_t room) {
  GradientCase out;
  out.forward = operation_of(OperationKind::combine, std::move(name));
  out.reads = {spread("slots", slots(room)), spread("weights", tokens(Dim::choice, 2)),
               numbers("experts", tokens(Dim::choice, 2), kExperts)};
  out.results = {zeros("y", tokens(Dim::hidden, kHidden))};
  out.backward = OperationKind::combine_backward;
  out.backward_reads = {x(0), x(1), x(2), gradient(0)};
  out.gradients_of = {0, 1};
  out.terms = static_cast<int>(kHidden);
  return out;
}

[[nodiscard]] Shape slots_alone(std::int64_t room) {
  return {{Dim::expert, kExperts}, {Dim::slot, room}};
}

[[nodiscard]] GradientCase dispatch_weights(std::string name, std::int64_t room) {
  GradientCase out;
  out.forward = operation_of(OperationKind::dispatch_weights, std::move(name));
  out.reads = {spread("x", tokens(Dim::choice, 2)),
               numbers("experts", tokens(Dim::choice, 2), kExperts)};
  out.results = {zeros("slots", slots_alone(room))};
  out.backward = OperationKind::dispatch_weights_backward;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  return out;
}

[[nodiscard]] GradientCase unpermute(std::string name, std::int64_t room) {
  GradientCase out;
  out.forward = operation_of(OperationKind::unpermute, std::move(name));
  out.reads = {spread("slots", slots(room)), numbers("experts", tokens(Dim::choice, 2), kExperts)};
  out.results = {zeros("y", tokens(Dim::hidden, kHidden))};
  out.backward = OperationKind::unpermute_backward;
  out.backward_reads = {x(1), gradient(0)};
  out.gradients_of = {0};
  out.terms = 2;
  return out;
}

[[nodiscard]] GradientCase weighted(std::string name, ActivationFunction function) {
  GradientCase out;
  out.forward = operation_of(OperationKind::weighted_activation, std::move(name));
  out.forward.function = function;
  out.reads = {spread("x", slots(5)), spread("weights", slots_alone(5))};
  out.results = {zeros("y", slots(5))};
  out.backward = OperationKind::weighted_activation_backward;
  out.backward_reads = {x(0), x(1), gradient(0)};
  out.gradients_of = {0, 1};
  out.terms = static_cast<int>(kHidden);
  if (!is_gated(function)) return out;
  out.reads.push_back(spread("gate", slots(5)));
  out.backward_reads = {x(0), x(1), x(2), gradient(0)};
  out.gradients_of = {0, 1, 2};
  return out;
}

}  // namespace

/// Twelve visits to four experts: with room for two each, some are dropped whatever they choose.
GradientCases expert_cases() {
  return {router(),
          dispatch("dispatch", 12),
          dispatch("dispatch that drops", 2),
          combine("combine", 12),
          combine("combine of what was not dropped", 2),
          dispatch_weights("dispatch of weights", 12),
          dispatch_weights("dispatch of weights that drops", 2),
          unpermute("unpermute", 12),
          unpermute("unpermute of what was not dropped", 2),
          weighted("weighted SwiGLU", ActivationFunction::swiglu),
          weighted("weighted GeGLU", ActivationFunction::geglu),
          weighted("weighted squared ReLU", ActivationFunction::squared_relu)};
}

}  // namespace lockstep
