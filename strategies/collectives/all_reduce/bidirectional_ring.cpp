#include "strategies/collectives/all_reduce/algorithms.hpp"
#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/ring_order.hpp"

/// Bidirectional ring all-reduce: half of the data goes round a cycle of n ranks one way, half the
/// other way, side by side. The cycle is the one of ring's first channel.
/// In: n >= 1 ranks, S bytes on each. Chunks: 2n blocks of ceil(count/2n) elements.
/// Reference: both ways round on TPU tori, Kumar and Jouppi 2020 (arXiv 2011.03605).
namespace lockstep {
namespace {

SchedulePtr make_bidirectional_ring(int n, const RankLayout& layout) {
  const SchedulePtr ring = make_plain_ring(n);
  const RankOrder order = ring_order(n, layout, 0);
  return side_by_side({{ring, order}, {ring, reversed(order, n)}});
}

}  // namespace

CollectiveAlgorithm all_reduce_bidirectional_ring_row() {
  return {.collective = Collective::all_reduce,
          .name = "bidirectional_ring",
          .summary = "two rings in opposite directions, each on half of the data",
          .limits = rows::kAnyRanks,
          .rounds = "2(n-1)",
          .sent_per_rank = "2(n-1)/n*S",
          .time =
              "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; half the beta where both ways "
              "have ports of their own",
          .example = "bidirectional_ring",
          .source = "Patarasuk and Yuan 2009, section 3, both ways round",
          .file = "bidirectional_ring.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return make_bidirectional_ring(input.n, input.layout);
              },
          .estimate = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return ring_estimate(input.n, 2);
          }};
}

}  // namespace lockstep
