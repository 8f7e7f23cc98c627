#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/scenario/scenario.hpp"

/// A layout in the options of other software.
namespace lockstep::app {

enum class LaunchFramework : std::uint8_t { megatron, torchtitan, deepspeed, nemo };
/// By the names of `plan --emit`.
[[nodiscard]] const std::vector<std::pair<std::string_view, LaunchFramework>>& launch_frameworks();

struct LaunchFlags {
  std::string text;                     // arguments or a configuration file, without comments
  std::vector<std::string> left_out{};  // what the framework cannot express, a sentence each
};

/// The layout of a scenario as launch arguments (Megatron-LM) or as a configuration file
/// (torchtitan TOML, DeepSpeed JSON, Megatron Bridge YAML of NeMo). The shape of the model and
/// everything else that is no layout is left to the user's own configuration.
[[nodiscard]] LaunchFlags launch_flags(LaunchFramework framework, const Scenario& scenario);

/// The text with a comment line for each thing that is left out. All four take lines with "#":
/// DeepSpeed reads its files as Hjson (runtime/config.py).
[[nodiscard]] std::string with_comments(const LaunchFlags& flags);

/// Layers by model chunk, in the order of the pipeline.
[[nodiscard]] std::vector<int> layers_by_chunk(const Scenario& scenario);

/// Megatron-LM's --pipeline-model-parallel-layout: "Et*3|(tt|)*6t,L". Stages are divided by "|",
/// E is the embedding, t a layer, L the loss; commas mean nothing, (x)*n and t*n repeat
/// (core/transformer/pipeline_parallel_layer_layout.py).
[[nodiscard]] std::string pipeline_layout_text(const std::vector<int>& layers);

}  // namespace lockstep::app
