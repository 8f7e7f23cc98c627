#pragma once

#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

/// Sets shape and FLOPs of fused attention; `masked`: what a mask leaves of it on a rank, nullptr:
/// on the busiest one.
void set_attention(Kernel& kernel, const Program& program, const Operation& operation,
                   const MaskedAttention* masked);
/// The same for GEMMs of unfused attention.
void set_unfused_attention(Kernel& kernel, const Program& program, const Operation& operation);

/// Mean work of an operation over ranks relative to the busiest rank, which its kernel counts:
/// below 1 for fused causal attention on contiguous sequence shards, where later ranks attend to
/// more. In a ring, keys from `ring_offset` steps back are visible to n - ring_offset of n ranks;
/// with gathered keys the mean rank attends to half.
[[nodiscard]] double mean_over_busiest(const Program& program, const Operation& operation);

}  // namespace lockstep
