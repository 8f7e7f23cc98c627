#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/schedules/ring_order.hpp"

/// Bidirectional ring all-reduce: half of the data goes round a cycle of n ranks one way, half the
/// other way, side by side. The cycle is the one of ring's first channel.
/// In: n >= 1 ranks, S bytes on each. Chunks: 2n blocks of ceil(count/2n) elements.
/// Rounds 2(n-1); sent per rank 2(n-1) blocks each way, 2(n-1)/n*S in all.
/// Ideal time 2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma
///   (alpha s per message, beta s per byte sent, gamma s per byte reduced) where both ways share a
///   port; half the bytes' time where they do not, as on a ring of full-duplex cables.
/// Errors: none after validate(). Source: Patarasuk and Yuan 2009, section 3 (one ring); both ways
///   round on TPU tori, Kumar and Jouppi 2020 (arXiv 2011.03605).
namespace lockstep {

SchedulePtr make_bidirectional_ring(int n, const RankLayout& layout) {
  const SchedulePtr ring = make_plain_ring(n);
  const RankOrder order = ring_order(n, layout, 0);
  return side_by_side({{ring, order}, {ring, reversed(order, n)}});
}

}  // namespace lockstep
