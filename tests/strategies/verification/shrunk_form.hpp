#pragma once

#include <string>

#include "strategies/verification/shrink/shrink.hpp"

/// What shrink() promises, asked of a layout before and after.
namespace lockstep::test {

/// What is lost, a line each; empty: nothing. `ranks`: at most that many.
[[nodiscard]] std::string lost_by_shrinking(const ModelConfig& model,
                                            const ParallelConfig& parallel, int gpus_per_node,
                                            const ShrunkLayout& shrunk, int ranks = 32);

/// Why the shrunk model is not small enough to be run on real numbers; empty: it is.
[[nodiscard]] std::string too_large(const ModelConfig& model);

}  // namespace lockstep::test
