#include <doctest/doctest.h>

#include <cstdlib>
#include <numeric>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// The engine's times against the closed forms, on a star, where they are exact: every port full
/// duplex, no other link shared.
using namespace lockstep;

namespace {

Duration replayed(const RowCase& row, Bytes block, const AlphaBeta& model, NetworkModel network) {
  const SchedulePtr schedule = row.make();
  CollectiveCall call{row.name(), schedule, {}, block, {}};
  call.members.resize(static_cast<std::size_t>(schedule->ranks()));
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  const Network star = test::star(call.members.size(), model.beta, model.alpha,
                                  {Duration{}, model.gamma, std::nullopt});
  const ReplayResult result = replay(star, {{call}, {}}, network);
  CHECK(result.unfinished.empty());
  return result.end.since_start();
}

void compare(NetworkModel network, const AlphaBeta& model) {
  for (const RowCase& row : every_row({1, 2, 3, 4, 5, 7, 8, 16, 33})) {
    const auto cost = row.cost();
    if (!cost) continue;
    const std::int64_t blocks = row.make()->blocks();
    for (const Bytes size : {0_B, 1_B, 1001_B, 64_MiB}) {
      const Bytes block = divide_message(size, *find_element_type("uint8"), blocks).block;
      const Duration ideal = ideal_time(*cost, block, model);
      CAPTURE(row.name());
      CAPTURE(size.count());
      CAPTURE(ideal.ps());
      const Duration engine = replayed(row, block, model, network);
      CAPTURE(engine.ps());
      // Each round is rounded to the picosecond.
      CHECK(std::abs((engine - ideal).ps()) <= cost->rounds);
    }
  }
}

}  // namespace

TEST_CASE("alpha-beta times are the closed forms") {
  compare(NetworkModel::alpha_beta, {2_us, 50_GBps, std::nullopt});
}

TEST_CASE("fluid times are the closed forms") {
  compare(NetworkModel::fluid, {2_us, 50_GBps, std::nullopt});
}

TEST_CASE("queueing times are the closed forms, since no port is ever idle") {
  compare(NetworkModel::queue, {2_us, 50_GBps, std::nullopt});
}

TEST_CASE("reductions cost what the closed forms say") {
  compare(NetworkModel::fluid, {2_us, 50_GBps, 100_GBps});
}
