#pragma once

#include "sim/cost/device_model.hpp"
#include "sim/program/kernel.hpp"

namespace lockstep {

/// Seconds that the multiprocessors need for fused attention, launch and memory apart. Each takes
/// one block of queries of one head at a time and goes over its keys; what a block costs besides
/// makes short sequences slower. Under a causal mask blocks differ in length: the device is busy
/// evenly, but never shorter than its longest block.
[[nodiscard]] double attention_seconds(const Kernel& kernel, const AttentionFigures& figures,
                                       FlopRate peak, std::int64_t multiprocessors);

}  // namespace lockstep
