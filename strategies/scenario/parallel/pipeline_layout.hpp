#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep {

/// Of the model chunks in pipeline order.
struct PipelineLayout {
  std::vector<int> layers{};
  /// Layers of multi-token prediction in the head, which is in the last chunk.
  int predictions = 0;
};

/// Megatron-Core's `--pipeline-model-parallel-layout` (megatron/core/transformer/
/// pipeline_parallel_layer_layout.py): model chunks in pipeline order, divided by `|`, of E (the
/// embedding), t (a layer), m (a layer of multi-token prediction, before the loss) and L (the
/// loss), with `*N` for repetition of a letter or of a group in parentheses; commas and spaces mean
/// nothing. Such as "Ett|(ttt|)*2,tmL". The layout, or why that is none.
[[nodiscard]] std::variant<PipelineLayout, std::string> read_pipeline_layout(std::string_view text);

}  // namespace lockstep
