#pragma once

#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// Where tensor parallelism overlaps, a GEMM and the gathering of its operand, or the scattering
/// of its result, go chunk by chunk, as many as there are ranks: a chunk is multiplied while others
/// travel. Of such a GEMM's time (`times`, per operation of the routine) only what is left
/// during the whole collective stays: all but what n - 1 of n chunks take to travel over the
/// device's links at their full rate, slowed down as by any communication; one chunk at least.
/// Backward only gathered gradients are multiplied like that; the rest runs during the GEMM of
/// weights as it is. Nothing changes for a cost model without a rate of links.
/// Source: NVIDIA TransformerEngine, comm_gemm_overlap (ring exchange; bulk for the rest), and
/// PyTorch torch/distributed/_symmetric_memory (fused_all_gather_matmul,
/// fused_matmul_reduce_scatter).
void chunk_gemms(const Program& program, const Routine& routine, const CostModel& cost,
                 std::vector<Duration>& times);

}  // namespace lockstep
