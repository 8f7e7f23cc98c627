#pragma once

#include "sim/config/json.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/parallel_config.hpp"

/// The `parallel` part of a scenario.
namespace lockstep {

/// Reads it for a cluster of so many ranks; where `dp` is left out it is what the others leave.
/// Defaults that depend on others: schedule none on one stage, else 1f1b, or interleaved where vpp
/// is above 1; global_batch one microbatch for each data-parallel rank; weights and gradients in
/// the precision of the products (bf16 for fp8); a master copy unless the weights are fp32.
/// Notes what is wrong with the values one by one; layout_problems() has what
/// is wrong with them together. `cluster_ranks` 0: unknown.
[[nodiscard]] ParallelConfig read_parallel(ObjectReader& in, int cluster_ranks);

/// Everything, as read_parallel() reads it.
[[nodiscard]] JsonValue json_of(const ParallelConfig& parallel);

}  // namespace lockstep
