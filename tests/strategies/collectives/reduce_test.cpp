#include "strategies/collectives/reduce/algorithms.hpp"

#include <doctest/doctest.h>

#include "strategies/collectives/sizing.hpp"
#include "tests/strategies/collectives/rows_under_test.hpp"

using namespace lockstep;
using test::row_of;

TEST_CASE("every reduce adds up at any root") {
  test::check_every_row(Collective::reduce);
}

TEST_CASE("a chain of sums takes any number of chunks") {
  test::check_random_arguments(Collective::reduce, "chain", "chunks", 40, 60);
}

TEST_CASE("a chain of sums weighs adding up too when it chooses its chunks") {
  // 10 ranks, 8 MiB at 50 GB/s and, added up, 100 GB/s: 167772 + 83886 = 251658 ns.
  // sqrt(8 * 251658 / 2000) = 31.7, and 31 * 32 = 992 is less than 1006.6: 32.
  const AlphaBeta hop{2_us, 50_GBps, 100_GBps};
  CHECK(best_chunks(reduce::chain_rounds(10), 8_MiB, hop) == 32);
  const AlgorithmInput input{.n = 10, .size = 8_MiB, .hop = hop};
  CHECK(make_schedule(row_of(Collective::reduce, "chain"), input)->blocks() == 32);
}

TEST_CASE("reduce ideal times are the textbook formulas") {
  // alpha 7 ps; 1 byte sent, 2 reduced a picosecond; S = 1680 bytes. Thakur et al. 2005, section 4.
  const AlphaBeta model{Duration::picoseconds(7), Rate::bytes_per_second(1'000'000'000'000),
                        Rate::bytes_per_second(2'000'000'000'000)};
  const auto ideal = [&](std::string_view name, int n) {
    const AlgorithmInput input{.n = n};
    const CollectiveAlgorithm& row = row_of(Collective::reduce, name);
    const Bytes block{1680 / make_schedule(row, input)->blocks()};
    return ideal_time(*cost_of(row, input), block, model).ps();
  };
  CHECK(ideal("flat", 5) == 4 * (7 + 1680 + 840));
  CHECK(ideal("binomial", 8) == 3 * (7 + 1680 + 840));
  CHECK(ideal("binomial", 5) == 3 * (7 + 1680 + 840));
  // Rabenseifner, n = 8: 6 alpha + 2 * 7/8 * 1680 + 7/8 * 840; n = 5: N' = 4, and the fold.
  CHECK(ideal("reduce_scatter_gather", 8) == 6 * 7 + 2 * 1470 + 735);
  CHECK(ideal("reduce_scatter_gather", 5) == 4 * 7 + 2 * 1260 + 630 + (7 + 1680 + 840));
  // 8 chunks of 210 bytes over 3 hops: 4 - 2 + 8 rounds of 7 + 210 + 105.
  CHECK(ideal("chain", 4) == 10 * (7 + 210 + 105));
}
