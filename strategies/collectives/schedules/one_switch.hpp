#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/schedule/schedule.hpp"
#include "strategies/collectives/chunk_count.hpp"

/// Reduce-scatter and all-gather of ranks below one switch that reduces and multicasts (NVLS).
namespace lockstep {

/// n ranks and the switch, rank n; n * `chunks` blocks, `chunks` of each rank. In turn one block of
/// every rank: for the reduce-scatter all ranks send it up, and the switch sends the sum to its
/// owner; for the all-gather its owner sends it up, and the switch multicasts it to all, the owner
/// too. Ranks and switch have a lane for each direction, so that blocks overlap.
[[nodiscard]] SchedulePtr one_switch_reduce_scatter(int n, std::int64_t chunks);
[[nodiscard]] SchedulePtr one_switch_all_gather(int n, std::int64_t chunks);

/// The number of chunks given or best: n * chunks + 1 rounds of one block.
[[nodiscard]] PipelineRounds one_switch_rounds(const AlgorithmInput& input);

/// For a schedule of which a rank sends `sent_per_chunk` blocks for each chunk; none for one rank.
[[nodiscard]] std::optional<CollectiveCost> one_switch_estimate(const AlgorithmInput& input,
                                                                std::int64_t sent_per_chunk);

/// Why these ranks do not hang below one switch alone; none where they do.
[[nodiscard]] std::optional<std::string> one_switch_refusal(const AlgorithmInput& input);

}  // namespace lockstep
