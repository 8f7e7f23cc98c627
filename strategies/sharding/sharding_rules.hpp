#pragma once

#include "strategies/layout/parallel_config.hpp"
#include "strategies/sharding/propagate_sharding.hpp"

namespace lockstep {

/// Which dimension each strategy of a scenario shards over which axes: data, tensor, sequence,
/// context and expert parallelism. propagate_sharding() derives the communication.
[[nodiscard]] ShardingRules sharding_rules(const ParallelConfig& parallel, const Mesh& mesh);

}  // namespace lockstep
