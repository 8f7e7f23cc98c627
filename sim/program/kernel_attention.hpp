#pragma once

#include "sim/program/kernel.hpp"

namespace lockstep {

/// Sets shape and FLOPs of fused attention and of the GEMMs of unfused attention; nothing for a
/// softmax, which is memory-bound.
void set_attention(Kernel& kernel, const Program& program, const Operation& operation);

/// Mean work of an operation over ranks relative to the busiest rank, which its kernel counts:
/// below 1 for fused causal attention on contiguous sequence shards, where later ranks attend to
/// more. In a ring, keys from `ring_offset` steps back are visible to n - ring_offset of n ranks;
/// with gathered keys the mean rank attends to half.
[[nodiscard]] double mean_over_busiest(const Program& program, const Operation& operation);
/// everything else is computed by all. Kernels count what the busiest rank does.
[[nodiscard]] double share_of_ranks(const Program& program, const Operation& operation);

}  // namespace lockstep
