#include <doctest/doctest.h>

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

TEST_CASE("SimGrid, as set up here, ends every flow of every case") {
  const auto cases = contended_cases();
  CHECK(cases.size() >= 60);
  const auto ends = replay_in_simgrid(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t flow = 0; flow < ends[i].size(); ++flow) {
      CHECK(ends[i][flow] > cases[i].flows[flow].start.since_start().seconds());
    }
  }
}
