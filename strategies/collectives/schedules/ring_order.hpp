#pragma once

#include "strategies/collectives/schedules/compose.hpp"

namespace lockstep {

/// The order of ranks in the ring of `channel`.
/// Several nodes: node by node. The last GPU of a node sends to the first of the next, which is on
/// the same rail (with two GPUs per node and an odd number of nodes, except for one crossing). Ring
/// c is ring 0 with GPU numbers shifted by c in each node, so that consecutive channels cross nodes
/// on different rails and `per_node` rings use every NIC once per direction.
/// Several nodes without switches: along paths over links of their own, every second node the other
/// way round. Nodes of different sizes: as equal ones, crossing at GPUs that the smallest has, too.
/// One node without a switch: channel 2k follows the k-th of the node's cycles, 2k+1 its reverse.
/// A torus with an even dimension or equal dimensions: a cycle between neighbors; odd channels are
/// reversed, and on a square torus channels 2 and 3 use no link of 0 and 1 (Bose et al. 1995, Gray
/// codes of k-ary n-cubes).
/// Otherwise: rank order.
[[nodiscard]] RankOrder ring_order(int n, const RankLayout& layout, int channel);

/// The reverse cycle.
[[nodiscard]] RankOrder reversed(RankOrder order, int n);

}  // namespace lockstep
