#include <doctest/doctest.h>

#include <cmath>

#include "sim/engine/replay.hpp"
#include "tests/simgrid/cases.hpp"
#include "tests/simgrid/simgrid_replay.hpp"

using namespace lockstep;

// Four senders of 1, 2, 3 and 4 MB share a receiver's 1 GB/s. All get a quarter until the first is
// done at 4 ms, then a third: 4 + 3 = 7 ms, then a half: 7 + 2 = 9 ms, and the last alone: 10 ms.
// Routes take 3 us, which every flow waits before it sends.
TEST_CASE("SimGrid, as set up here, is max-min fair after the latency") {
  CaseBuilder builder{"incast"};
  const EndpointId receiver = builder.endpoint();
  const LinkId in = builder.link(1_GBps, 2_us, true);
  for (int megabytes = 1; megabytes <= 4; ++megabytes) {
    const EndpointId sender = builder.endpoint();
    const LinkId out = builder.link(10_GBps, 1_us, true);
    builder.flow({sender, receiver, Bytes{1'000'000} * megabytes, {}}, {out, in});
  }
  const auto ends = replay_in_simgrid({builder.build()});
  const double expected[] = {4.003e-3, 7.003e-3, 9.003e-3, 10.003e-3};
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(ends[0][i] == doctest::Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("Every flow of every contended case ends when SimGrid says, within a millionth") {
  const auto cases = contended_cases();
  REQUIRE(cases.size() >= 60);
  const auto expected = replay_in_simgrid(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].name);
    const ReplayResult result =
        replay(cases[i].network, workload_of(cases[i]), NetworkModel::fluid);
    for (std::size_t flow = 0; flow < expected[i].size(); ++flow) {
      CAPTURE(flow);
      const TimePoint end = result.stream_ends[2 * flow].back();
      CHECK(result.stream_ends[2 * flow + 1].back() == end);
      CHECK(std::abs(end.since_start().seconds() - expected[i][flow]) <= 1e-6 * expected[i][flow]);
    }
  }
}
