#pragma once

#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// With overlapped tensor parallelism, a GEMM and the all-gather of its operand, or the
/// reduce-scatter of its result, run in as many chunks as there are ranks: a chunk is multiplied
/// while others are in flight. Reduces such a GEMM's entry in `times` (per operation of the
/// routine) to the part that runs during the whole collective: the time beyond what n - 1 of n
/// chunks take on the device's links at full rate, slowed down as during any communication; at
/// least one chunk. In backward only GEMMs with gathered gradients are chunked; the rest overlaps
/// with the weight-gradient GEMM. No effect with a cost model without a link rate.
/// Source: NVIDIA TransformerEngine, comm_gemm_overlap (ring exchange; bulk for the rest), and
/// PyTorch torch/distributed/_symmetric_memory (fused_all_gather_matmul,
/// fused_matmul_reduce_scatter).
void chunk_gemms(const Program& program, const Routine& routine, const CostModel& cost,
                 std::vector<Duration>& times);

}  // namespace lockstep
