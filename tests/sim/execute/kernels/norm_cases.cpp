#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kHidden = 6;

[[nodiscard]] Shape tokens(Dim last, std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, 3}, {last, size}};
}

[[nodiscard]] GradientCase norm(std::string name, Normalization norm, bool has_bias) {
  GradientCase out;
  out.forward = operation_of(OperationKind::normalization, std::move(name));
  out.forward.norm = norm;
  out.reads = {spread("x", tokens(Dim::hidden, kHidden)), spread("gain", {{Dim::hidden, kHidden}})};
  if (has_bias) out.reads.push_back(spread("bias", {{Dim::hidden, kHidden}}));
  out.results = {zeros("y", tokens(Dim::hidden, kHidden)),
                 zeros("statistics", tokens(Dim::statistic, norm == Normalization::layer ? 2 : 1))};
  out.backward = OperationKind::normalization_backward;
  out.backward_reads = {x(0), x(1), y(1), gradient(0)};
  out.gradients_of = {0, 1};
  if (has_bias) out.gradients_of.push_back(2);
  out.terms = 2 * static_cast<int>(kHidden) + 6;  // mean and variance; tokens
  return out;
}

[[nodiscard]] GradientCase bare_norm(std::string name, Normalization kind) {
  GradientCase out = norm(std::move(name), kind, false);
  out.reads.pop_back();
  out.backward_reads = {x(0), y(1), gradient(0)};
  out.gradients_of = {0};
  return out;
}

/// A gain for every head's numbers; `together`: all heads' are normalized together.
[[nodiscard]] GradientCase norm_of_heads(bool together) {
  const Shape heads{{Dim::batch, 2}, {Dim::sequence, 2}, {Dim::heads, 3}, {Dim::head_size, 4}};
  GradientCase out = norm(together ? "norm over all heads" : "norm with a gain per head",
                          Normalization::rms, false);
  out.forward.over = {Dim::head_size};
  if (together) out.forward.over = {Dim::heads, Dim::head_size};
  out.reads = {spread("x", heads), spread("gain", {{Dim::heads, 3}, {Dim::head_size, 4}})};
  Shape statistics = heads;
  statistics.back() = {Dim::statistic, 1};
  if (together) statistics.erase(statistics.begin() + 2);
  out.results = {zeros("y", heads), zeros("statistics", statistics)};
  out.terms = 2 * 12 + 4;  // mean squares; tokens
  return out;
}

[[nodiscard]] GradientCase batch_norm() {
  const Shape image{{Dim::batch, 2}, {Dim::height, 3}, {Dim::width, 2}, {Dim::channels, 4}};
  GradientCase out;
  out.forward = operation_of(OperationKind::batch_norm, "batch norm");
  out.reads = {spread("x", image), spread("gain", {{Dim::channels, 4}}),
               spread("bias", {{Dim::channels, 4}})};
  out.results = {zeros("y", image), zeros("statistics", {{Dim::channels, 4}, {Dim::statistic, 2}})};
  out.backward = OperationKind::batch_norm_backward;
  out.backward_reads = {x(0), x(1), y(1), gradient(0)};
  out.gradients_of = {0, 1, 2};
  out.terms = 3 * 12;  // mean, variance and backward over the pixels of the batch
  return out;
}

}  // namespace

GradientCases norm_cases() {
  return {norm("layer norm", Normalization::layer, true),
          norm("layer norm without bias", Normalization::layer, false),
          norm("RMS norm", Normalization::rms, false),
          bare_norm("layer norm without weights", Normalization::layer),
          bare_norm("RMS norm without weights", Normalization::rms),
          norm_of_heads(false),
          norm_of_heads(true),
          batch_norm()};
}

}  // namespace lockstep
