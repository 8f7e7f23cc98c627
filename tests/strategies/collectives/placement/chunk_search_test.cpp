#include "strategies/collectives/placement/chunk_search.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "strategies/collectives/placement/pipelines.hpp"
#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {
namespace {

/// The k and how many times were asked for, where the least time is at `best`.
std::pair<std::int64_t, int> found(std::int64_t start, std::int64_t best) {
  int asked = 0;
  const std::int64_t k = least_near(start, kMostChunks, [&](std::int64_t tried) {
    ++asked;
    return Duration::picoseconds(1000 + std::abs(tried - best));
  });
  return {k, asked};
}

}  // namespace

TEST_CASE("all small numbers of chunks are tried") {
  for (const std::int64_t best : {1, 2, 5, 9, 12}) CHECK(found(4, best).first == best);
}

TEST_CASE("large ones are found near the estimate in few replays") {
  for (const std::int64_t best : {30, 64, 100, 150, 300}) {
    const auto [k, asked] = found(100, best);
    CHECK(std::abs(k - best) <= best / 16 + 1);
    CHECK(asked <= 30);
  }
}

TEST_CASE("every algorithm that chooses its number of chunks says by which rounds") {
  int rows = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    AlgorithmInput input{.n = 8};
    if (!validate(row, input).empty()) continue;
    const AlgorithmParameter* chunks = find_parameter(row, "chunks");
    const bool chooses = chunks != nullptr && !chunks->fallback;
    CHECK(pipeline_rounds(row, input).has_value() == chooses);
    rows += chooses ? 1 : 0;
  }
  CHECK(rows >= 5);
}

TEST_CASE("without latency a message is not cut into more chunks than gain anything") {
  // 12 ranks, depth 4: of 4 * 4 fixed rounds 1/256 of the time is left at 4096 chunks; padding of
  // 65,536 took 8 % of 7.8 MB.
  const AlphaBeta free{Duration{}, 50_GBps, std::nullopt};
  CHECK(best_chunks({.fixed = 16}, Bytes{7'800'000}, free) == 4096);
}

}  // namespace lockstep
