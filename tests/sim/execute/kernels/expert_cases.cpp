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

}  // namespace

/// Twelve visits to four experts: with room for two each, some are dropped whatever they choose.
GradientCases expert_cases() {
  return {router(), dispatch("dispatch", 12), dispatch("dispatch that drops", 2),
          combine("combine", 12), combine("combine of what was not dropped", 2)};
}

}  // namespace lockstep
