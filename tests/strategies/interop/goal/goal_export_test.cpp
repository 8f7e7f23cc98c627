#include "strategies/interop/goal/goal_export.hpp"

#include <doctest/doctest.h>

#include "sim/engine/replay.hpp"
#include "strategies/interop/goal/goal_workload.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

using namespace lockstep;

namespace {

Duration time_of(const Workload& workload, std::size_t hosts, Endpoint endpoint = {}) {
  const ReplayResult result =
      replay(test::star(hosts, 1_GBps, 2_us, endpoint), workload, NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  return result.end.since_start();
}

Workload imported(const std::string& text, int ranks) {
  std::vector<EndpointId> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), EndpointId{0});
  return to_workload(parse_goal(text, "exported"), members);
}

}  // namespace

TEST_CASE("a ring of two as GOAL") {
  CHECK(write_goal(test::TinyRing(2), {1000_B, 1_GBps, {}}) ==
        "// 2 ranks, blocks of 1000 bytes\n"
        "num_ranks 2\n"
        "\n"
        "rank 0 {\n"
        "r0_0_0: recv 1000b from 1 tag 0\n"
        "c0_0_0: calc 1000\n"
        "c0_0_0 requires r0_0_0\n"
        "s0_0_0: send 1000b to 1 tag 0\n"
        "r0_1_0: recv 1000b from 1 tag 0\n"
        "r0_1_0 requires s0_0_0\n"
        "r0_1_0 requires c0_0_0\n"
        "s0_1_0: send 1000b to 1 tag 0\n"
        "s0_1_0 requires s0_0_0\n"
        "s0_1_0 requires c0_0_0\n"
        "}\n"
        "\n"
        "rank 1 {\n"
        "r0_0_0: recv 1000b from 0 tag 0\n"
        "c0_0_0: calc 1000\n"
        "c0_0_0 requires r0_0_0\n"
        "s0_0_0: send 1000b to 0 tag 0\n"
        "r0_1_0: recv 1000b from 0 tag 0\n"
        "r0_1_0 requires s0_0_0\n"
        "r0_1_0 requires c0_0_0\n"
        "s0_1_0: send 1000b to 0 tag 0\n"
        "s0_1_0 requires s0_0_0\n"
        "s0_1_0 requires c0_0_0\n"
        "}\n");
}

TEST_CASE("a ring takes the same time when it comes back from GOAL") {
  Endpoint reducing;
  reducing.reduce_rate = 2_GBps;
  for (const int ranks : {2, 3, 5, 8}) {
    for (const Bytes block : {0_B, 2_B, 4000_B, 1_MiB}) {
      CAPTURE(ranks);
      CAPTURE(block.count());
      const auto ring = std::make_shared<test::TinyRing>(ranks);
      const auto hosts = static_cast<std::size_t>(ranks);
      CHECK(time_of(imported(write_goal(*ring, {block, {}, {}}), ranks), hosts) ==
            time_of(test::one_call(ring, block), hosts));
      CHECK(time_of(imported(write_goal(*ring, {block, reducing.reduce_rate, {}}), ranks), hosts) ==
            time_of(test::one_call(ring, block), hosts, reducing));
    }
  }
}

TEST_CASE("lanes, named dependencies, pieces, local work and empty steps come through") {
  // Lane 0 of rank 0 sends blocks 0 and 4..5 on channel 2, does nothing, then adds what lane 1
  // took; lane 1 waits for that and sends three messages at once.
  const test::Scripted schedule(
      2, 2, 3, [](int rank, int lane, std::int64_t index, ScheduleStep& step) {
        const std::vector<Chunk> chunks{{Buffer::data, 0, 1}, {Buffer::data, 4, 2}};
        if (lane == 0 && index == 0) {
          if (rank == 0) step.send(1, chunks, 2);
          if (rank == 1) step.receive(0, chunks, Combine::reduce, 2);
        }
        if (lane == 0 && index == 2)
          step.locals = {{{Buffer::scratch, 0, 2}, {Buffer::data, 0, 2}, Combine::copy},
                         {{Buffer::scratch, 0, 4}, {Buffer::data, 0, 4}, Combine::reduce}};
        if (lane == 1 && index == 0) step.after = {{0, 2}};
        if (lane == 1 && index == 1) {
          for (int i = 0; i < 3; ++i) {
            step.sends.push_back({1 - rank, {Buffer::data, i, 1}, 7});
            step.receives.push_back({1 - rank, {Buffer::scratch, i, 1}, Combine::copy, 7});
          }
        }
      });
  const std::string text = write_goal(schedule, {1000_B, 2_GBps, 4_GBps});
  const GoalSchedule read = parse_goal(text, "exported");
  const auto find = [&read](const std::string& label) -> const GoalOperation& {
    for (const GoalOperation& operation : read.programs[0].operations)
      if (operation.label == label) return operation;
    FAIL("no operation " << label);
    throw 0;
  };
  CHECK(find("s0_0_0").size == 3000_B);
  CHECK(find("s0_0_0").tag == 2);
  CHECK(find("m0_2_0").duration == 500_ns);   // 2 blocks at 4 GB/s
  CHECK(find("m0_2_1").duration == 2000_ns);  // 4 blocks at 2 GB/s
  CHECK(find("j0_1").after.size() == 1);      // an empty step, after the one before
  CHECK(find("j1_1").after.size() == 6);
  // 2 us + 3 us on the wire and 1.5 us to reduce, 2.5 us of work, then 2 us + 3 us again.
  CHECK(time_of(imported(text, 2), 2) == 14_us);
}
