#pragma once

#include "sim/cost/device_model.hpp"
#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

/// Seconds of fused attention on the multiprocessors, without launch and memory. Each processes one
/// block of queries of one head at a time over all its keys; a constant cost per block slows short
/// sequences. Under a causal mask blocks differ in length: multiprocessors are balanced, but the
/// time is at least that of the longest block.
[[nodiscard]] double attention_seconds(const Kernel& kernel, const AttentionFigures& figures,
                                       FlopRate peak, std::int64_t multiprocessors);

}  // namespace lockstep
