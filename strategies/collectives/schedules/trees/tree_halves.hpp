#pragma once

#include <cstdint>

#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/schedules/trees/reduction_trees.hpp"

/// Reduce-scatter and all-gather over trees of switches that reduce and multicast (SHARP), rail by
/// rail; in nodes of g ranks a direct reduce-scatter comes before, or a direct all-gather after.
namespace lockstep {

/// Blocks of the n ranks with data in `chunks`, one chunk after the other: those of some nodes, or,
/// where there are fewer nodes than chunks, a piece of every rank's. Reduce-scatter:
/// rank i of a node gets from the node's others what they have for the ranks i of all nodes and
/// adds it; sums of these go up the tree, where switches add, and down to their owners. All-gather:
/// every rank sends its block up, switches multicast what they have not got from there; then rank i
/// sends the node's others what it has of the ranks i of all nodes. Every rank and switch has a
/// lane each for receiving from below, sending up, receiving from above, sending down, and inside
/// the node.
[[nodiscard]] SchedulePtr tree_reduce_scatter(const ReductionTrees& trees, std::int64_t chunks);
[[nodiscard]] SchedulePtr tree_all_gather(const ReductionTrees& trees, std::int64_t chunks);

/// Of both: a hop for every level up and down, and one inside nodes.
[[nodiscard]] PipelineRounds tree_half_rounds(const AlgorithmInput& input);

}  // namespace lockstep
