#pragma once

#include "sim/program/kernel.hpp"

namespace lockstep {

/// The shape and FLOPs of fused attention and of the GEMMs of unfused attention; nothing of a
/// softmax, which memory bounds.
void set_attention(Kernel& kernel, const Program& program, const Operation& operation);

/// What the mean rank computes of an operation over what the busiest one does, which is what its
/// kernel counts: less than 1 of fused causal attention where a sequence is cut into plain runs and
/// later ranks attend to more of it. Keys from `ring_offset` parts behind are there for
/// n - ring_offset of n ranks; of gathered keys the mean rank attends to half.
[[nodiscard]] double mean_over_busiest(const Program& program, const Operation& operation);
/// everything else is computed by all. Kernels count what the busiest rank does.
[[nodiscard]] double share_of_ranks(const Program& program, const Operation& operation);

}  // namespace lockstep
