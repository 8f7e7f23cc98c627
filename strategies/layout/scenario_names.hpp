#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/layout/parallel_config.hpp"

/// Names of enumerators in scenario files.
namespace lockstep {

template <class T>
using Names = std::vector<std::pair<std::string_view, T>>;

[[nodiscard]] const Names<Recompute>& recompute_names();
[[nodiscard]] const Names<RecomputeModule>& module_names();
[[nodiscard]] const Names<PipelineOrder>& pipeline_names();
[[nodiscard]] const Names<ContextKind>& context_names();
[[nodiscard]] const Names<GradientExchange>& exchange_names();
[[nodiscard]] const Names<Overlap>& overlap_names();
[[nodiscard]] const Names<Dispatcher>& dispatcher_names();
[[nodiscard]] const Names<GradientReduction>& reduction_names();
[[nodiscard]] const Names<UpdateStart>& update_names();
[[nodiscard]] const Names<Optimizer>& optimizer_names();
[[nodiscard]] const Names<MuonBlocks>& muon_blocks_names();
/// fp32, fp16, bf16, fp8: of model states, and of GEMMs unless a recipe is named.
[[nodiscard]] const Names<Dtype>& precision_names();
/// Of numbers that are stored or sent, not computed with: blocks with scales too.
[[nodiscard]] const Names<Dtype>& stored_names();
/// Modules of recomputation as text: "layernorm+moe_act".
[[nodiscard]] std::string modules_text(const std::set<RecomputeModule>& modules);
/// Recomputation as text; with selective and modules other than the core of attention these too:
/// "selective (layernorm+moe_act)".
[[nodiscard]] std::string recompute_text(const ParallelConfig& parallel);
/// What `parallel.precision` says of a layout.
[[nodiscard]] std::string precision_text(const ParallelConfig& parallel);

template <class T>
[[nodiscard]] std::vector<std::string_view> keys_of(const Names<T>& names) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : names) keys.push_back(key);
  return keys;
}

/// Empty if the value has no name.
template <class T>
[[nodiscard]] std::string_view name_of(const Names<T>& names, T value) {
  for (const auto& [key, named] : names) {
    if (named == value) return key;
  }
  return {};
}

template <class T>
[[nodiscard]] std::optional<T> named(const Names<T>& names, std::string_view name) {
  for (const auto& [key, value] : names) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace lockstep
