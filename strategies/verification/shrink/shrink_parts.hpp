#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/verification/shrink/shrink.hpp"

/// The steps of shrink(), which alone uses them.
namespace lockstep::shrinking {

/// The layout that is shrunk, or one on its way.
struct SizedLayout {
  ModelConfig model{};
  ParallelConfig parallel{};
  int gpus_per_node = 1;
};

/// Whether a key must stay: it or a section that it is in is kept, or nothing of its kind changes.
[[nodiscard]] bool stays(const ShrinkLimits& limits, std::string_view key);

/// Every choice of degrees within the limits that keeps each above 1 there, and parts of the
/// replicas parts; models and batches as they were.
[[nodiscard]] std::vector<SizedLayout> with_fewer_ranks(const SizedLayout& whole,
                                                        const ShrinkLimits& limits);
/// GPUs of a node such that groups that lay within nodes do, and those across nodes too, as far as
/// can be. `small` has its degrees; `ulysses`: its ranks in an all-to-all.
[[nodiscard]] int fewer_per_node(const SizedLayout& whole, const ParallelConfig& small,
                                 int ulysses);

/// Fits the model's sizes and the layers of the stages to the degrees that `small` has already.
void shrink_model(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits);
void shrink_transformer(TransformerConfig& model, const SizedLayout& whole,
                        const SizedLayout& small, const ShrinkLimits& limits);
/// Layers where the parts of a pipeline are equal, short edges aside: as few as show what there
/// was, but `least` of them where there were. In: both layouts' degrees.
[[nodiscard]] std::int64_t fewer_layers(std::int64_t layers, const ParallelConfig& whole,
                                        const ParallelConfig& small, std::int64_t least);
/// The same where each part's layers are given: parts of different size remain, and empty ones.
[[nodiscard]] std::vector<int> fewer_stages(const std::vector<int>& stages, int chunks,
                                            std::int64_t least);
/// `layers` over so many parts, not all alike if `uneven`.
[[nodiscard]] std::vector<int> spread_layers(std::int64_t layers, int chunks, bool uneven);

/// Batches and the bucket; the model and the degrees of `small` are final.
void shrink_batch(SizedLayout& small, const SizedLayout& whole, const ShrinkLimits& limits);

/// What decides which operations a program is made of, as truths about sizes in a fixed order.
struct Form {
  std::vector<bool> must{};    // given up only where limits leave no other layout
  std::vector<bool> should{};  // followed as far as there is room
};
[[nodiscard]] Form form_of(const SizedLayout& layout);
/// Of the groups for which a layout names an algorithm: whether it can do with as many ranks, which
/// may be on nodes of several if they could be before.
[[nodiscard]] Form algorithm_form(const ParallelConfig& layout);
/// Of how queries, keys and values are divided among tp * ulysses ranks.
[[nodiscard]] Form head_form(std::int64_t heads, std::int64_t kv_heads, std::int64_t tp,
                             std::int64_t ulysses);
/// How far a form is from another: 100 for each that must be and is not, 2 for others.
[[nodiscard]] int distance(const Form& a, const Form& b);

[[nodiscard]] std::vector<Change> changes_between(const SizedLayout& whole,
                                                  const SizedLayout& small);

/// The largest multiple of `unit` that is at most `target` and `most`; `unit` if there is none.
[[nodiscard]] inline std::int64_t multiple(std::int64_t unit, std::int64_t target,
                                           std::int64_t most) {
  return std::max(unit, std::min(target, most) / unit * unit);
}

}  // namespace lockstep::shrinking
