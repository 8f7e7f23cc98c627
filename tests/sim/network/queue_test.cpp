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

TEST_CASE("what trickles in over slow links leaves a fast port to others, as in the other models") {
  // 8 messages of 10 kB come at 10 GB/s each, 1 us, into a port of 80 GB/s, where each takes 1/8
  // us: the port is taken from 0 to 1 us, the last byte of each comes at 1 us.
  Bed bed;
  const LinkId port = bed.link(80_GBps);
  for (int i = 0; i < 8; ++i) bed.flow(kilobytes(10), {bed.link(10_GBps), port});
  for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta, kQueue})
    CHECK(bed.ends(model) == std::vector<std::int64_t>(8, kMicrosecond));
}

TEST_CASE("a port with more to take in than it carries takes the rest afterwards") {
  // 16 of them need 2 us of the port. The first eight take [0, 1] us, from the last eighth on; the
  // others are all there at 1 us, when their heads pass, and go one after the other.
  Bed bed;
  const LinkId port = bed.link(80_GBps);
  for (int i = 0; i < 16; ++i) bed.flow(kilobytes(10), {bed.link(10_GBps), port});
  const std::vector<std::int64_t> ends = bed.ends(kQueue);
  CHECK(ends[7] == kMicrosecond);
  CHECK(ends[8] == kMicrosecond + kMicrosecond / 8);
  CHECK(ends[15] == 2 * kMicrosecond);
}

TEST_CASE("a message passes one that trickles in, and one that comes later waits for its bytes") {
  // 8 kB at 1 GB/s come within 8 us; the port of 8 GB/s gives them its [7, 8] us. What is there at
  // once, 8 kB, passes in [0, 1] us.
  Bed bed;
  const LinkId port = bed.link(8_GBps);
  bed.flow(kilobytes(8), {bed.link(1_GBps), port});
  bed.flow(kilobytes(8), {port});
  CHECK(bed.ends(kQueue) == std::vector<std::int64_t>{8 * kMicrosecond, kMicrosecond});
  // 56 kB from 1 us on need 7 us: [1, 7] and [8, 9] us. In all the port has carried 64 kB in 8 of 9
  // us; had it sent bytes in the order in which they came, the last would have left at 8.875 us.
  Bed later;
  const LinkId shared = later.link(8_GBps);
  later.flow(kilobytes(8), {later.link(1_GBps), shared});
  later.flow(kilobytes(56), {shared}, at_us(1));
  CHECK(later.ends(kQueue) == std::vector<std::int64_t>{8 * kMicrosecond, 9 * kMicrosecond});
}

TEST_CASE("messages on links of one speed keep their order, head by head") {
  // 4 kB at 4 GB/s each: the first two share link A, the second and the third link B, whose time
  // from 1 us on the second has when the third comes at 1.5 us.
  Bed bed;
  const LinkId a = bed.link(4_GBps);
  const LinkId b = bed.link(4_GBps);
  bed.flow(kilobytes(4), {a});
  bed.flow(kilobytes(4), {a, b});
  bed.flow(kilobytes(4), {b}, TimePoint{1500_ns});
  CHECK(bed.ends(kQueue) ==
        std::vector<std::int64_t>{kMicrosecond, 2 * kMicrosecond, 3 * kMicrosecond});
}
