#pragma once

#include "tools/app/plan/launch/launch_flags.hpp"

/// The writers behind launch_flags(), a file per family.
namespace lockstep::app {

/// Names: Megatron-LM's training/arguments.py, core 0.20 (d98e8a64dd, 2026-08).
[[nodiscard]] LaunchFlags megatron_flags(const Scenario& scenario);
/// Names: Megatron Bridge's ConfigContainer (067f987df, 2026-08), whose `model`, `ddp` and
/// `optimizer` have the fields of Megatron-Core.
[[nodiscard]] LaunchFlags nemo_flags(const Scenario& scenario);
/// Names: torchtitan's configuration of version 0.2 (config/job_config.py); later versions take
/// the same keys as flags (--parallelism.tensor_parallel_degree).
[[nodiscard]] LaunchFlags torchtitan_flags(const Scenario& scenario);
/// Names: DeepSpeed 0.19 (runtime/config.py, runtime/zero/config.py).
[[nodiscard]] LaunchFlags deepspeed_flags(const Scenario& scenario);

/// Ranks that share one full set of shards: the shard group with hybrid sharding, else dp * cp.
[[nodiscard]] inline int shard_group(const ParallelConfig& parallel) {
  return parallel.shard_ranks > 0 ? parallel.shard_ranks : parallel.dp * parallel.cp;
}
[[nodiscard]] inline bool has_replicas(const ParallelConfig& parallel) {
  return parallel.dp * parallel.cp > 1;
}
[[nodiscard]] inline bool has_unequal_chunks(const ParallelConfig& parallel) {
  return parallel.short_edges || !parallel.stages.empty();
}

}  // namespace lockstep::app
