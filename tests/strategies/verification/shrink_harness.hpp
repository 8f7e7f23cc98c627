#pragma once

#include <string>

#include "tests/strategies/verification/shrunk_form.hpp"

/// Layouts to be shrunk.
namespace lockstep::test {

/// Shrinks a layout and builds the program of what came out; what is wrong with either, and what
/// has changed then; empty: nothing is wrong.
[[nodiscard]] std::string trouble_shrinking(const ModelConfig& model,
                                            const ParallelConfig& parallel, int gpus_per_node);

/// A model that ships, such as "gpt3-175b".
[[nodiscard]] ModelConfig model_of(const std::string& name);

/// tp 8, cp 2, pp 4, dp 4.
[[nodiscard]] ParallelConfig four_ways();

}  // namespace lockstep::test
