#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/verification/shrink/shrink.hpp"

/// Internal to shrink(): its steps.
namespace lockstep::shrinking {

/// The original or an intermediate layout.
struct SizedLayout {
  ModelConfig model{};
  ParallelConfig parallel{};
  int gpus_per_node = 1;
};

/// Whether a key is fixed, itself, by its section or by its kind.
[[nodiscard]] bool stays(const ShrinkLimits& limits, std::string_view key);

/// Every choice of degrees within the limits that keeps degrees above 1 and parts of the replicas
/// proper; models and batches unchanged.
[[nodiscard]] std::vector<SizedLayout> with_fewer_ranks(const SizedLayout& whole,
                                                        const ShrinkLimits& limits);
/// GPUs per node such that groups stay within nodes or span nodes as before, as far as possible.
/// `small` has the new degrees; `ulysses`: its ranks per all-to-all.
[[nodiscard]] int fewer_per_node(const SizedLayout& whole, const ParallelConfig& small,
                                 int ulysses);

/// Fits the model's sizes and the layers per stage to the degrees in `small`.
void shrink_model(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits);
void shrink_transformer(TransformerConfig& model, const SizedLayout& whole,
                        const SizedLayout& small, const ShrinkLimits& limits);
/// Number of layers for equal stages (short edges aside): the minimum that keeps the form, at least
/// `least` if there were as many. Both layouts have their degrees.
[[nodiscard]] std::int64_t fewer_layers(std::int64_t layers, const ParallelConfig& whole,
                                        const ParallelConfig& small, std::int64_t least);
/// So many layers in all, divided over an encoder and a decoder as now, with two each if possible.
void divide_layers(TransformerConfig& model, std::int64_t layers);
/// The same for explicit stages: unequal and empty stages are preserved.
[[nodiscard]] std::vector<int> fewer_stages(const std::vector<int>& stages, int chunks,
                                            std::int64_t least);
/// `layers` distributed over chunks, unequally if `uneven`.
[[nodiscard]] std::vector<int> spread_layers(std::int64_t layers, int chunks, bool uneven);

/// Shrinks batches and the bucket; model and degrees of `small` are final.
void shrink_batch(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits);

/// The properties that determine a program's operations, in a fixed order.
struct LayoutTraits {
  std::vector<bool> must{};    // violated only if limits leave no other layout
  std::vector<bool> should{};  // satisfied if possible
};
[[nodiscard]] LayoutTraits traits_of(const SizedLayout& layout);
/// For groups with a named algorithm: whether it supports the number of ranks, on nodes with
/// several of them if that was so before.
[[nodiscard]] LayoutTraits algorithm_traits(const ParallelConfig& layout);
/// How queries, keys and values are sharded over tp * ulysses ranks.
[[nodiscard]] LayoutTraits head_traits(std::int64_t heads, std::int64_t kv_heads, std::int64_t tp,
                                       std::int64_t ulysses);
/// Distance between forms: 100 for each violated `must`, 2 for each `should`.
[[nodiscard]] int distance(const LayoutTraits& a, const LayoutTraits& b);

[[nodiscard]] std::vector<Change> changes_between(const SizedLayout& whole,
                                                  const SizedLayout& small);

/// The largest multiple of `unit` not above `target` and `most`; `unit` if there is none.
[[nodiscard]] inline std::int64_t multiple(std::int64_t unit, std::int64_t target,
                                           std::int64_t most) {
  return std::max(unit, std::min(target, most) / unit * unit);
}

}  // namespace lockstep::shrinking
