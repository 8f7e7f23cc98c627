#pragma once

#include "strategies/collectives/schedules/compose.hpp"

namespace lockstep {

/// The cycle in which ring `channel` passes the ranks.
///
/// Several nodes: node after node. The last GPU of one node sends to the first of the next, which
/// is on the same rail (with two GPUs a node and an odd number of nodes one crossing is not). Ring
/// c is ring 0 with every GPU's number in its node c higher, so that rings of consecutive channels
/// cross on different rails and `per_node` rings use every NIC once each way.
/// One node whose GPUs are joined without a switch: channel 2k goes along the k-th of the node's
/// cycles, 2k+1 the same backwards.
/// A torus: a cycle that steps from neighbour to neighbour, where some dimension is even or all
/// are equal; odd channels go the other way round, and on a square torus channels 2 and 3 use none
/// of the links of 0 and 1 (Bose et al. 1995, Gray codes of k-ary n-cubes).
/// Anything else: the ranks in order.
[[nodiscard]] RankOrder ring_order(int n, const RankLayout& layout, int channel);

/// The same cycle the other way round.
[[nodiscard]] RankOrder reversed(RankOrder order, int n);

}  // namespace lockstep
