#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep {

/// Megatron-Core's `--pipeline-model-parallel-layout` (megatron/core/transformer/
/// pipeline_parallel_layer_layout.py): model chunks in pipeline order, divided by `|`, of E (the
/// embedding), t (a layer) and L (the loss), with `*N` for repetition of a letter or of a group in
/// parentheses; commas and spaces mean nothing. Such as "Ett|(ttt|)*2,tL".
/// Layers of each chunk, or why that is no layout.
[[nodiscard]] std::variant<std::vector<int>, std::string> layers_of_layout(std::string_view text);

}  // namespace lockstep
