#include "strategies/collectives/broadcast/algorithms.hpp"

#include <doctest/doctest.h>

#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

TEST_CASE("every broadcast reaches all ranks from any root") {
  test::check_every_row(Collective::broadcast);
}

TEST_CASE("pipelined broadcasts deliver any number of chunks") {
  test::check_random_arguments(Collective::broadcast, "chain", "chunks", 40, 60);
  test::check_random_arguments(Collective::broadcast, "binary_tree", "chunks", 40, 60);
}

TEST_CASE("the best chunk count of a pipeline is that of the formula") {
  // 10 ranks, 8 MiB, alpha 2 us, 50 GB/s: sqrt(8 * 167772 ns / 2000 ns) = 25.9; at 25 the rounds
  // are 33 * (2000 + 6710.9) = 287460 ns, at 26 34 * (2000 + 6452.8) = 287394 ns.
  const AlphaBeta hop{2_us, 50_GBps, std::nullopt};
  CHECK(best_chunks(broadcast::chain_rounds(10), 8_MiB, hop) == 26);
  // For 9 MiB sqrt(8 * 188743 / 2000) = 27.48: 27 * 28 = 756 is more than 27.48^2 = 755.
  CHECK(best_chunks(broadcast::chain_rounds(10), 9_MiB, hop) == 27);
  // One hop needs no pipeline; nothing to send, no more than one chunk a byte.
  CHECK(best_chunks(broadcast::chain_rounds(2), 8_MiB, hop) == 1);
  CHECK(best_chunks(broadcast::chain_rounds(10), 0_B, hop) == 1);
  CHECK(best_chunks(broadcast::chain_rounds(10), 5_B, {Duration{}, 50_GBps, {}}) == 5);
  // Without latency more would always be better, if by less and less: 256 for each of 8 fixed
  // rounds.
  CHECK(best_chunks(broadcast::chain_rounds(10), 1_GiB, {Duration{}, 50_GBps, {}}) == 8 * 256);
}

TEST_CASE("no other chunk count is faster than the best") {
  const AlphaBeta hop{3_us, 25_GBps, std::nullopt};
  for (const Bytes size : {1_B, 100_KiB, 1_MiB, 100_MiB}) {
    for (const int n : {3, 4, 9, 33, 100}) {
      for (const PipelineRounds& rounds :
           {broadcast::chain_rounds(n), broadcast::binary_tree_rounds(n)}) {
        // Whole microseconds per byte, so that no rounding of chunks disturbs.
        const auto time = [&](std::int64_t k) {
          const double chunk = static_cast<double>(size.count()) / static_cast<double>(k);
          return static_cast<double>(rounds.fixed + rounds.per_chunk * k) * (3e-6 + chunk / 25e9);
        };
        const std::int64_t best = best_chunks(rounds, size, hop);
        CAPTURE(best);
        CAPTURE(size.count());
        CHECK(time(best) <= time(best + 1) * (1 + 1e-12));
        if (best > 1) CHECK(time(best) <= time(best - 1) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("a chain chooses its chunks by size and hop") {
  const CollectiveAlgorithm& chain = row_of(Collective::broadcast, "chain");
  AlgorithmInput input{.n = 10, .size = 8_MiB, .hop = AlphaBeta{2_us, 50_GBps, std::nullopt}};
  CHECK(make_schedule(chain, input)->blocks() == 26);
  CHECK(cost_of(chain, input)->rounds == 10 - 2 + 26);
  input.arguments = {{"chunks", 3}};
  CHECK(make_schedule(chain, input)->blocks() == 3);
  CHECK(make_schedule(chain, {.n = 10})->blocks() == kUnknownBestChunks);
}

TEST_CASE("a binary tree's rounds grow with its depth, two for each second child") {
  // Rounds until the first chunk is everywhere, k = 1: h + 1. n = 3: second child after 2;
  // n = 4: rank 3 is first child of 1: 2; n = 5: rank 4 second child of 1: 1 + 2; n = 6: rank 5
  // first child of 2: 2 + 1; n = 7: 2 + 2.
  const std::vector<std::pair<int, int>> rounds{{1, 0}, {2, 1}, {3, 2},  {4, 2},  {5, 3},  {6, 3},
                                                {7, 4}, {8, 4}, {10, 4}, {11, 5}, {15, 6}, {16, 6}};
  for (const auto& [n, expected] : rounds) {
    CAPTURE(n);
    CHECK(broadcast::binary_tree_cost(n, 1).rounds == expected);
  }
}

TEST_CASE("a pipeline over a thousand ranks is one phase once it is full") {
  const SchedulePtr chain = make_schedule(row_of(Collective::broadcast, "chain"),
                                          {.n = 1000, .arguments = {{"chunks", 4000}}});
  REQUIRE(chain->phases().size() == 1);
  CHECK(chain->phases()[0].first == 998);
  CHECK(chain->phases()[0].count == 4000 - 998);
}
