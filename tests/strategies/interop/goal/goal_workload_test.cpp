#include "strategies/interop/goal/goal_workload.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "sim/engine/replay.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/strategies/interop/text/corpus.hpp"

using namespace lockstep;

namespace {

// 1 GB/s is one byte a nanosecond; a hop takes 100 ns.
const Rate kRate = 1_GBps;
const Duration kHop = 100_ns;

std::vector<EndpointId> everyone(int ranks) {
  std::vector<EndpointId> out(static_cast<std::size_t>(ranks));
  std::iota(out.begin(), out.end(), EndpointId{0});
  return out;
}

Workload workload_of(const std::string& text) {
  const GoalSchedule schedule = parse_goal(text, "f");
  return to_workload(schedule, everyone(schedule.ranks));
}

/// Ends of the operations in the order of the file, in nanoseconds.
std::vector<std::int64_t> ends(const Workload& workload, std::size_t hosts) {
  const ReplayResult result = replay(test::star(hosts, kRate, kHop), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  std::vector<std::int64_t> out;
  for (const auto& stream : result.stream_ends) out.push_back(stream.back().ps() / 1000);
  return out;
}

std::vector<std::int64_t> ends(const std::string& text) {
  return ends(workload_of(text), 4);
}

using Times = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("operations become streams in the order of ranks, played by the members given") {
  const GoalSchedule schedule = parse_goal(
      "num_ranks 2\nrank 1 {\n r: recv 7b from 0 tag 5\n calc 3 cpu 2\n}\n"
      "rank 0 { s: send 7b to 1 tag 5 }",
      "f");
  const std::vector<EndpointId> members{9, 4};
  const Workload workload = to_workload(schedule, members);
  CHECK(workload.slots == Workload::kNoLimit);
  REQUIRE(workload.streams.size() == 3);
  CHECK(workload.streams[0].endpoint == 9);
  CHECK(workload.streams[0].name == "s");
  CHECK(workload.streams[0].operations[0].kind == Activity::Kind::send);
  CHECK(workload.streams[0].operations[0].peer == 4);
  CHECK(workload.streams[0].operations[0].tag == 5);
  CHECK(workload.streams[0].operations[0].size == 7_B);
  CHECK(workload.streams[1].endpoint == 4);
  CHECK(workload.streams[1].operations[0].kind == Activity::Kind::receive);
  CHECK(workload.streams[1].operations[0].peer == 9);
  CHECK(workload.streams[2].name == "line 4");
  CHECK(workload.streams[2].operations[0].processor == 2);
}

TEST_CASE("what requires begins when what it requires has ended") {
  // The message leaves at 40, is on its way for 100 + 50 and is there at 190.
  CHECK(ends("num_ranks 2\n"
             "rank 0 { a: calc 40 b: send 50b to 1 b requires a }\n"
             "rank 1 { a: recv 50b from 0 b: calc 10 b requires a }")[3] == 200);
}

TEST_CASE("what irequires begins when the other has started") {
  // a ends at 5 and b starts then; c waits for b's start alone, d for its end at 15.
  const std::string begin =
      "num_ranks 1 rank 0 { a: calc 5 cpu 0 b: calc 10 cpu 1 c: calc 1 cpu 2 d: calc 1 cpu 3 "
      "b requires a c irequires b d requires b";
  CHECK(ends(begin + "}") == Times{5, 15, 6, 16});
  // Starts hand on: e waits for the start of c, and that waits for the start of b.
  CHECK(ends(begin + " e: calc 100 cpu 4 e irequires c}")[4] == 105);
  // And with what c itself requires: d's end at 16.
  CHECK(ends(begin + " e: calc 100 cpu 4 e irequires c c requires d}")[4] == 116);
}

TEST_CASE("messages of different sizes between the same ranks meet by size") {
  const Workload workload = workload_of(
      "num_ranks 3\n"
      "rank 0 { send 1b to 1 tag 4294967295; send 2b to 1 tag 4294967295; send 3b to 2 tag 1 }\n"
      "rank 1 { recv 2b from 0 tag 4294967295; recv 1b from 0 tag 4294967295 }\n"
      "rank 2 { recv 3b from 0 tag 1 }");
  std::vector<std::uint32_t> tags;
  for (const Stream& stream : workload.streams) tags.push_back(stream.operations[0].tag);
  CHECK(tags ==
        std::vector<std::uint32_t>{UINT32_MAX, UINT32_MAX - 1, 1, UINT32_MAX - 1, UINT32_MAX, 1});
  CHECK(ends(workload, 3).size() == 6);  // the replay ends
}

TEST_CASE("a binomial tree by others takes as long as its longest path") {
  const auto path = test::corpus("goal/binary_tree_32.goal");
  if (!path) return;
  // Rank 0 sends five messages of one byte at once, which share its port: the first hop takes
  // 100 + 5 ns. Rank 1 then sends four, rank 3 three, rank 7 two and rank 15 one.
  const Workload workload = to_workload(read_goal(*path), everyone(32));
  const ReplayResult result = replay(test::star(32, kRate, kHop), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(result.end.since_start() == 5 * 100_ns + (5 + 4 + 3 + 2 + 1) * 1_ns);
}

TEST_CASE("calculations on one cpu of a rank run one at a time") {
  CHECK(ends("num_ranks 1 rank 0 { calc 10 calc 5 calc 7 cpu 1 }") == Times{10, 15, 7});
}

TEST_CASE("a sender is free when its last byte has left, whether anybody receives yet or not") {
  // Both send before they receive. The sends end at 50, the receives when the messages are there.
  CHECK(ends("num_ranks 2\n"
             "rank 0 { s: send 50b to 1 r: recv 50b from 1 r requires s }\n"
             "rank 1 { s: send 50b to 0 r: recv 50b from 0 r requires s }") ==
        Times{50, 150, 50, 150});
}

TEST_CASE("a message to oneself crosses no link") {
  CHECK(ends("num_ranks 1 rank 0 { send 50b to 0 recv 50b from 0 }") == Times{0, 0});
}
