#include "tests/sim/execute/device_program/large_cases.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep {

namespace {

/// Queries 64 at a time, keys 32 (forward), or the other way round (backward).
constexpr std::int64_t kTokens = 70;

[[nodiscard]] GradientCase attention(std::string name, bool causal, std::int64_t groups) {
  const auto rows = [](Dim heads, std::int64_t count, Dim width, std::int64_t size) {
    return Shape{{Dim::batch, 1}, {Dim::sequence, kTokens}, {heads, count}, {width, size}};
  };
  GradientCase out;
  out.forward = operation_of(OperationKind::attention, std::move(name));
  out.forward.causal = causal;
  out.reads = {spread("q", rows(Dim::heads, 2, Dim::head_size, 9)),
               spread("k", rows(Dim::kv_heads, groups, Dim::head_size, 9)),
               spread("v", rows(Dim::kv_heads, groups, Dim::value_size, 6))};
  out.results = {zeros("o", rows(Dim::heads, 2, Dim::value_size, 6)),
                 zeros("statistics", {{Dim::batch, 1}, {Dim::heads, 2}, {Dim::sequence, kTokens}})};
  out.backward = OperationKind::attention_backward;
  out.backward_reads = {x(0), x(1), x(2), y(0), y(1), gradient(0)};
  out.gradients_of = {0, 1, 2};
  return out;
}

/// Blocks of keys that no query sees, some queries and all of them.
[[nodiscard]] GradientCase windowed(VisibleKeys visible) {
  GradientCase out = attention(visible.chunked ? "chunks" : "windows", true, 1);
  out.forward.visible = visible;
  return out;
}

/// So wide that a team takes few at a time.
[[nodiscard]] GradientCase wide_heads() {
  const Shape rows{{Dim::batch, 1}, {Dim::sequence, 7}, {Dim::heads, 1}, {Dim::head_size, 700}};
  Shape keys = rows;
  keys[2].first = Dim::kv_heads;
  GradientCase out = attention("attention of wide heads", true, 1);
  out.reads = {spread("q", rows), spread("k", keys), spread("v", keys)};
  out.results = {zeros("o", rows),
                 zeros("statistics", {{Dim::batch, 1}, {Dim::heads, 1}, {Dim::sequence, 7}})};
  return out;
}

/// The second and third of four parts of a sequence whose other half another rank has: keys of
/// later tokens come first.
[[nodiscard]] GradientCase of_half(bool goes_on) {
  GradientCase out = attention("attention of a zigzag half", true, 2);
  const auto pick = [](std::int64_t first, std::int64_t second) {
    std::vector<std::int64_t> tokens(35);
    std::iota(tokens.begin(), tokens.begin() + 18, first);
    std::iota(tokens.begin() + 18, tokens.end(), second);
    return tokens;
  };
  for (Part* part : {&out.reads[0], &out.results[0], &out.results[1]}) {
    *part = cut(*part, Dim::sequence, pick(52, 0));
  }
  for (const std::size_t i : {1U, 2U}) out.reads[i] = cut(out.reads[i], Dim::sequence, pick(20, 3));
  if (!goes_on) return out;
  out.forward.name = "attention that goes on";
  out.forward.accumulate = true;
  const auto by_parts = run_oracle<double>(
      [&] {
        Operation first = out.forward;
        first.accumulate = false;
        return first;
      }(),
      out.reads, out.results);
  out.reads.push_back(with_values(out.results[0], by_parts[0]));
  out.reads.push_back(with_values(out.results[1], by_parts[1]));
  out.gradients_of.clear();
  return out;
}

/// 600 rows are two parts; 40 columns two blocks.
[[nodiscard]] GradientCase norm(Normalization norm) {
  const auto tokens = [](Dim last, std::int64_t size) {
    return Shape{{Dim::batch, 2}, {Dim::sequence, 300}, {last, size}};
  };
  GradientCase out;
  out.forward = operation_of(OperationKind::normalization, "norm of many rows");
  out.forward.norm = norm;
  out.reads = {spread("x", tokens(Dim::hidden, 40)), spread("gain", {{Dim::hidden, 40}})};
  if (norm == Normalization::layer) out.reads.push_back(spread("bias", {{Dim::hidden, 40}}));
  out.results = {zeros("y", tokens(Dim::hidden, 40)),
                 zeros("statistics", tokens(Dim::statistic, norm == Normalization::layer ? 2 : 1))};
  out.backward = OperationKind::normalization_backward;
  out.backward_reads = {x(0), x(1), y(1), gradient(0)};
  out.gradients_of = {0, 1};
  if (norm == Normalization::layer) out.gradients_of.push_back(2);
  return out;
}

[[nodiscard]] GradientCase batch_norm() {
  const Shape image{{Dim::batch, 6}, {Dim::height, 10}, {Dim::width, 10}, {Dim::channels, 37}};
  GradientCase out;
  out.forward = operation_of(OperationKind::batch_norm, "batch norm of many pixels");
  out.reads = {spread("x", image), spread("gain", {{Dim::channels, 37}}),
               spread("bias", {{Dim::channels, 37}})};
  out.results = {zeros("y", image),
                 zeros("statistics", {{Dim::channels, 37}, {Dim::statistic, 2}})};
  out.backward = OperationKind::batch_norm_backward;
  out.backward_reads = {x(0), x(1), y(1), gradient(0)};
  out.gradients_of = {0, 1, 2};
  return out;
}

/// Eleven channels: an index does eight of them.
[[nodiscard]] GradientCase convolution(OperationKind gradient_of) {
  const auto image = [](std::int64_t height, std::int64_t width, std::int64_t channels) {
    return Shape{
        {Dim::batch, 2}, {Dim::height, height}, {Dim::width, width}, {Dim::channels, channels}};
  };
  GradientCase out;
  out.forward = operation_of(OperationKind::convolution, "convolution of many channels");
  out.forward.window = 3;
  out.forward.stride = 2;
  out.reads = {spread("x", image(5, 4, 11)),
               spread("weight", {{Dim::window, 9 * 11}, {Dim::channels, 3}})};
  out.results = {zeros("y", image(3, 2, 3))};
  out.backward = gradient_of;
  const bool by_input = gradient_of == OperationKind::convolution_input_grad;
  out.backward_reads = by_input ? std::vector{gradient(0), x(1)} : std::vector{x(0), gradient(0)};
  out.gradients_of = {by_input ? 0U : 1U};
  return out;
}

constexpr std::int64_t kExperts = 150;

[[nodiscard]] Shape visits(Dim last, std::int64_t size) {
  return {{Dim::batch, 2}, {Dim::sequence, 100}, {last, size}};
}

/// More experts than lanes, many with equal logits.
[[nodiscard]] GradientCase router() {
  GradientCase out;
  out.forward = operation_of(OperationKind::router, "router among equals");
  out.reads = {numbers("logits", visits(Dim::expert, kExperts), 20)};
  out.results = {zeros("weights", visits(Dim::choice, 8)),
                 zeros("experts", visits(Dim::choice, 8))};
  out.backward = OperationKind::router_backward;
  out.backward_reads = {x(0), y(0), y(1), gradient(0)};
  out.gradients_of = {0};
  return out;
}

/// 800 visits to five experts, 160 each on the average, with room for 150; or groups by parity with
/// 60 of each.
[[nodiscard]] GradientCase combine(const DroppingRule* dropping) {
  const std::int64_t room = dropping == nullptr ? 150 : 2 * dropping->capacity;
  GradientCase out;
  out.forward = operation_of(OperationKind::combine, "combine of many visits");
  out.reads = {spread("slots", {{Dim::expert, 5}, {Dim::slot, room}, {Dim::hidden, 3}}),
               spread("weights", visits(Dim::choice, 4)),
               numbers("experts", visits(Dim::choice, 4), 5)};
  out.results = {zeros("y", visits(Dim::hidden, 3))};
  out.backward = OperationKind::combine_backward;
  out.backward_reads = {x(0), x(1), x(2), gradient(0)};
  out.gradients_of = {0, 1};
  out.settings.dropping = dropping;
  return out;
}

[[nodiscard]] GradientCase dispatch(const DroppingRule* dropping) {
  GradientCase out = combine(dropping);
  out.forward = operation_of(OperationKind::dispatch, "dispatch of many visits");
  out.results = {
      zeros("slots",
            {{Dim::expert, 5}, {Dim::slot, out.reads[0].layout.axes[1].size}, {Dim::hidden, 3}})};
  out.reads = {spread("x", visits(Dim::hidden, 3)), out.reads[2]};
  out.backward = OperationKind::dispatch_backward;
  out.backward_reads = {gradient(0), x(1)};
  out.gradients_of = {0};
  return out;
}

}  // namespace

GradientCases large_cases() {
  static const DroppingRule kByParity{
      60, [](std::int64_t b, std::int64_t s) { return static_cast<int>(b + s) % 2 * 7; }};
  return {attention("attention", false, 2),
          attention("causal attention", true, 1),
          windowed({.window = 40}),
          windowed({.window = 25, .chunked = true}),
          wide_heads(),
          of_half(false),
          of_half(true),
          norm(Normalization::layer),
          norm(Normalization::rms),
          batch_norm(),
          convolution(OperationKind::convolution_input_grad),
          convolution(OperationKind::convolution_weight_grad),
          router(),
          combine(nullptr),
          combine(&kByParity),
          dispatch(nullptr),
          dispatch(&kByParity)};
}

}  // namespace lockstep
