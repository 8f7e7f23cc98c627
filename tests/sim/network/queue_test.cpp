#include <doctest/doctest.h>

#include "tests/sim/engine/bed.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {
constexpr NetworkModel kQueue = NetworkModel::queue;
}

TEST_CASE("cut-through: an uncontended message takes its latencies and its length once") {
  // 1 us + 2 us of latency, 12 kB over 6 and 4 GB/s: the slower link's 3 us. A switch that stored
  // the message whole would take 1 + 2 + 2 + 3 us.
  Bed bed;
  const std::vector<LinkId> path = {bed.link(6_GBps, 1_us), bed.link(4_GBps, 2_us)};
  bed.flow(kilobytes(12), path);
  CHECK(bed.ends(kQueue) == std::vector<std::int64_t>{6 * kMicrosecond});
  Bed other;  // the slower link first: 1 + 2 + 3 us as well
  const std::vector<LinkId> back = {other.link(4_GBps, 1_us), other.link(6_GBps, 2_us)};
  other.flow(kilobytes(12), back);
  CHECK(other.ends(kQueue) == std::vector<std::int64_t>{6 * kMicrosecond});
}

TEST_CASE("messages on one link go one after the other, in the order of their heads") {
  // 4 GB/s: 4 kB is 1 us. The second head comes at 0.5 us and waits until 1 us.
  Bed bed;
  const LinkId link = bed.link(4_GBps);
  bed.flow(kilobytes(4), {link});
  bed.flow(kilobytes(8), {link}, TimePoint{500_ns});
  CHECK(bed.ends(kQueue) == std::vector<std::int64_t>{kMicrosecond, 3 * kMicrosecond});
}

TEST_CASE("a message that was held up passes later links without store-and-forward") {
  // Both enter link A (4 GB/s) at 0; the second, 4 kB, leaves at 2 us having begun at 1 us; its
  // head is on B (8 GB/s) from 1 us and its tail follows at 2 us.
  Bed bed;
  const LinkId a = bed.link(4_GBps);
  const LinkId b = bed.link(8_GBps);
  bed.flow(kilobytes(4), {a});
  bed.flow(kilobytes(4), {a, b});
  CHECK(bed.ends(kQueue)[1] == 2 * kMicrosecond);
}
