#pragma once

#include "sim/config/json/json.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/parallel_config.hpp"

/// The `parallel` part of a scenario.
namespace lockstep {

/// Reads a layout for a cluster of `cluster_ranks` ranks (0: unknown).
/// Dependent defaults: dp from the ranks and the other degrees; schedule none with one stage,
/// interleaved if vpp > 1, else 1f1b; global_batch one microbatch per data-parallel rank; weights
/// and gradients in the GEMMs' precision (bf16 for fp8); an fp32 master copy unless the weights are
/// fp32.
/// Reports values that are invalid individually; layout_problems() finds impossible combinations.
[[nodiscard]] ParallelConfig read_parallel(ObjectReader& in, int cluster_ranks);

/// Every key, readable by read_parallel().
[[nodiscard]] JsonValue json_of(const ParallelConfig& parallel);

}  // namespace lockstep
