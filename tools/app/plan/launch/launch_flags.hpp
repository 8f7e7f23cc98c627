#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/scenario/scenario.hpp"

/// A layout as launch options of a training framework.
namespace lockstep::app {

enum class LaunchFramework : std::uint8_t { megatron, torchtitan, deepspeed, nemo };
/// By the names of `plan --emit`.
[[nodiscard]] const std::vector<std::pair<std::string_view, LaunchFramework>>& launch_frameworks();

struct LaunchFlags {
  std::string text;  // arguments or a configuration file, without comments
  std::vector<std::string>
      left_out{};  // settings that the framework cannot express, one comment each
};

/// The layout of a scenario as launch arguments (Megatron-LM) or as a configuration file
/// (torchtitan TOML, DeepSpeed JSON, Megatron Bridge YAML of NeMo). Model shape and other settings
/// outside the layout are left to the user's configuration.
[[nodiscard]] LaunchFlags launch_flags(LaunchFramework framework, const Scenario& scenario);

/// The text with one comment line per setting left out. All four formats accept "#" comments:
/// DeepSpeed parses its files as Hjson (runtime/config.py).
[[nodiscard]] std::string with_comments(const LaunchFlags& flags);

/// Number of layers per model chunk, in pipeline order.
[[nodiscard]] std::vector<int> layers_by_chunk(const Scenario& scenario);

/// Megatron-LM's --pipeline-model-parallel-layout: "Et*3|(tt|)*6t,L". Stages are divided by "|",
/// E is the embedding, t a layer, m a module for multi-token prediction, L the loss; commas are
/// ignored, (x)*n and t*n repeat (core/transformer/pipeline_parallel_layer_layout.py).
[[nodiscard]] std::string pipeline_layout_text(const std::vector<int>& layers,
                                               std::int64_t modules = 0);

}  // namespace lockstep::app
