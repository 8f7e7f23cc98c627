#include <doctest/doctest.h>

#include <array>

#include "sim/engine/event_loop/engine.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

/// Connections with slots, local work, messages of several runs, shared processors. Ports carry
/// 1 kB/us, a hop takes 2 us; expectations are worked out beside each case.
using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr std::array kModels{NetworkModel::fluid, NetworkModel::alpha_beta, NetworkModel::queue};
constexpr Bytes kBlock{1000};

std::int64_t us(TimePoint at) {
  CHECK(at.ps() % 1'000'000 == 0);
  return at.ps() / 1'000'000;
}

Network small_star(std::size_t hosts, Endpoint endpoint = {}) {
  return star(hosts, 1_GBps, 2_us, endpoint);
}

Chunk blocks(std::int64_t count) {
  return {Buffer::data, 0, count};
}

Activity operation(Activity::Kind kind, EndpointId peer, Bytes size, Duration duration = {}) {
  Activity out;
  out.kind = kind;
  out.peer = peer;
  out.size = size;
  out.duration = duration;
  return out;
}

/// Rank 0 sends 10 blocks twice to rank 1, which begins to receive at `late`.
std::shared_ptr<const Schedule> two_messages(int slots) {
  return std::make_shared<Scripted>(
      2, 1, 2,
      [](int rank, int, std::int64_t, ScheduleStep& step) {
        if (rank == 0) step.sends.push_back({1, blocks(10)});
        if (rank == 1) step.receives.push_back({0, blocks(10)});
      },
      slots);
}

}  // namespace

TEST_CASE("an eager sender is free when its last byte has left") {
  const Network network = small_star(2);
  for (const NetworkModel model : kModels) {
    Workload workload;
    workload.streams.push_back({0, "s", {operation(Activity::Kind::send, 1, Bytes{10'000})}});
    workload.streams.push_back({1, "r", {operation(Activity::Kind::receive, 0, Bytes{10'000})}});
    workload.slots = Workload::kNoLimit;
    const ReplayResult eager = replay(network, workload, model);
    CHECK(us(eager.stream_ends[0][0]) == 10);
    CHECK(us(eager.stream_ends[1][0]) == 12);
    workload.slots = 0;
    const ReplayResult held = replay(network, workload, model);
    CHECK(us(held.stream_ends[0][0]) == 12);
  }
}

TEST_CASE("a message needs a slot until the receiver has taken the one before") {
  const Network network = small_star(2);
  const TimePoint late{50_us};
  for (const NetworkModel model : kModels) {
    // One slot: the second leaves when the first is taken at 50 us, and arrives 10 + 2 us later.
    ReplayResult result =
        replay(network, one_call(two_messages(1), kBlock, {TimePoint{}, late}), model);
    CHECK(us(result.call_ends[0][0]) == 60);
    CHECK(us(result.call_ends[0][1]) == 62);
    // Two slots: both are there by 22 us.
    result = replay(network, one_call(two_messages(2), kBlock, {TimePoint{}, late}), model);
    CHECK(us(result.call_ends[0][0]) == 20);
    CHECK(us(result.call_ends[0][1]) == 50);
    // No slots: each waits for the receiver and holds the sender until it has arrived.
    result = replay(network, one_call(two_messages(0), kBlock, {TimePoint{}, late}), model);
    CHECK(us(result.call_ends[0][0]) == 74);
    CHECK(us(result.call_ends[0][1]) == 74);
  }
}

TEST_CASE("ranks that all send first go on only where slots are enough") {
  const auto schedule = [](int slots) {
    return std::make_shared<Scripted>(
        3, 1, 4,
        [](int rank, int, std::int64_t index, ScheduleStep& step) {
          if (index < 2) step.sends.push_back({(rank + 1) % 3, blocks(1)});
          if (index >= 2) step.receives.push_back({(rank + 2) % 3, blocks(1)});
        },
        slots);
  };
  const Network network = small_star(3);
  for (const NetworkModel model : kModels) {
    const ReplayResult stuck = replay(network, one_call(schedule(1), kBlock), model);
    REQUIRE(stuck.unfinished.size() == 6);  // three senders, three messages that nobody takes
    CHECK(stuck.unfinished[0].text ==
          "rank 0, all_reduce tiny, step 1 of 4: waits to send 1000 bytes to rank 1; the last step "
          "that matched is 0; all 1 slots of the connection are taken");
    CHECK(stuck.unfinished[1].text == "rank 0: nobody at rank 1 takes 1000 bytes that it sent");
    // Two slots: 1 us each to leave, the second arrives 2 us after it has left.
    const ReplayResult through = replay(network, one_call(schedule(2), kBlock), model);
    CHECK(through.unfinished.empty());
    CHECK(us(through.end) == 4);
  }
}

TEST_CASE("a slot is free when what it holds has been reduced") {
  // 10 blocks at 0.5 kB/us take 20 us to reduce; the receiver is there from the start. The first
  // message leaves by 10, arrives at 12, is reduced by 32; then the second: 42, 44, 64.
  const auto schedule = std::make_shared<Scripted>(
      2, 1, 2,
      [](int rank, int, std::int64_t, ScheduleStep& step) {
        if (rank == 0) step.sends.push_back({1, blocks(10)});
        if (rank == 1) step.receives.push_back({0, blocks(10), Combine::reduce});
      },
      1);
  Endpoint endpoint;
  endpoint.reduce_rate = Rate::bytes_per_second(500'000'000);
  for (const NetworkModel model : kModels) {
    const ReplayResult result = replay(small_star(2, endpoint), one_call(schedule, kBlock), model);
    CHECK(us(result.call_ends[0][0]) == 42);
    CHECK(us(result.call_ends[0][1]) == 64);
  }
}

TEST_CASE("a message that is forwarded keeps its slot until it has been sent on") {
  // Ranks 0, 1, 2 in a chain, two messages of 10 us and 2 us a hop, one slot a connection. The
  // first arrives at rank 1 at 12, which has sent it on at 22; only then the second leaves rank 0,
  // until 32, arrives at 34, leaves rank 1 until 44 and is at rank 2 at 46. Given back when taken,
  // at 12, the slot lets it leave until 22, and rank 1, free at 22, passes it on from 24 to 34.
  const auto chain = [](bool forwarded) {
    return std::make_shared<Scripted>(
        3, 1, 4,
        [forwarded](int rank, int, std::int64_t index, ScheduleStep& step) {
          if (rank == 0 && index < 2) step.sends.push_back({1, blocks(10)});
          if (rank == 2 && index < 2) step.receives.push_back({1, blocks(10)});
          if (rank != 1) return;
          if (index % 2 == 1) return step.sends.push_back({2, blocks(10)});
          step.receives.push_back({0, blocks(10)});
          step.receives.back().forwarded = forwarded;
        },
        1);
  };
  const Network network = small_star(3);
  for (const NetworkModel model : kModels) {
    const ReplayResult fused = replay(network, one_call(chain(true), kBlock), model);
    CHECK(us(fused.call_ends[0][0]) == 32);
    CHECK(us(fused.call_ends[0][1]) == 44);
    CHECK(us(fused.call_ends[0][2]) == 46);
    const ReplayResult apart = replay(network, one_call(chain(false), kBlock), model);
    CHECK(us(apart.call_ends[0][0]) == 22);
    CHECK(us(apart.call_ends[0][1]) == 34);
    CHECK(us(apart.call_ends[0][2]) == 36);
  }
}

TEST_CASE("local work follows the step's transfers and takes its time") {
  // The message of 4 blocks arrives at 4 + 2; then 6 blocks are added at 0.5 kB/us while 3 are
  // copied at 1 kB/us: 6 + 12. Rank 0 has nothing to do but send.
  const auto schedule =
      std::make_shared<Scripted>(2, 1, 1, [](int rank, int, std::int64_t, ScheduleStep& step) {
        if (rank == 0) step.sends.push_back({1, blocks(4)});
        if (rank == 0) return;
        step.receives.push_back({0, blocks(4)});
        step.locals.push_back({blocks(6), {Buffer::scratch, 0, 6}, Combine::reduce});
        step.locals.push_back({blocks(3), {Buffer::output, 0, 3}, Combine::copy});
      });
  Endpoint endpoint;
  const ReplayResult free = replay(small_star(2), one_call(schedule, kBlock), NetworkModel::fluid);
  CHECK(us(free.end) == 6);
  endpoint.reduce_rate = Rate::bytes_per_second(500'000'000);
  endpoint.copy_rate = 1_GBps;
  const ReplayResult result =
      replay(small_star(2, endpoint), one_call(schedule, kBlock), NetworkModel::fluid);
  CHECK(us(result.call_ends[0][0]) == 6);
  CHECK(us(result.call_ends[0][1]) == 18);
}

TEST_CASE("a step of local work alone takes its time and wakes the steps that wait for it") {
  // Lane 0 copies 5 blocks at 1 kB/us; lane 1 waits for that, then sends one block: 5 + 1 + 2.
  const auto schedule =
      std::make_shared<Scripted>(2, 2, 1, [](int rank, int lane, std::int64_t, ScheduleStep& step) {
        if (rank == 0 && lane == 0)
          step.locals.push_back({blocks(5), {Buffer::output, 0, 5}, Combine::copy});
        if (rank == 0 && lane == 1) {
          step.after.push_back({0, 0});
          step.sends.push_back({1, blocks(1)});
        }
        if (rank == 1 && lane == 1) step.receives.push_back({0, blocks(1)});
      });
  Endpoint endpoint;
  endpoint.copy_rate = 1_GBps;
  const ReplayResult result =
      replay(small_star(2, endpoint), one_call(schedule, kBlock), NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(us(result.end) == 8);
}

TEST_CASE("a message of several runs is as long as all of them") {
  const std::array<Chunk, 3> runs{Chunk{Buffer::data, 7, 2}, Chunk{Buffer::data, 0, 3},
                                  Chunk{Buffer::data, 20, 5}};
  const auto schedule =
      std::make_shared<Scripted>(2, 1, 1, [runs](int rank, int, std::int64_t, ScheduleStep& step) {
        if (rank == 0) step.send(1, runs);
        if (rank == 1) step.receive(0, runs, Combine::copy);
      });
  const ReplayResult result =
      replay(small_star(2), one_call(schedule, kBlock), NetworkModel::fluid);
  CHECK(us(result.end) == 12);
  CHECK(result.transfers == 1);
}

TEST_CASE("operations of one processor run one at a time") {
  Workload workload;
  for (const std::uint32_t processor : {3U, 3U, 4U}) {
    Activity work = operation(Activity::Kind::compute, 0, Bytes{}, 5_us);
    work.processor = processor;
    workload.streams.push_back({0, "calc", {work}});
  }
  const ReplayResult result = replay(small_star(1), workload, NetworkModel::fluid);
  CHECK(us(result.stream_ends[0][0]) == 5);
  CHECK(us(result.stream_ends[1][0]) == 10);
  CHECK(us(result.stream_ends[2][0]) == 5);
}

TEST_CASE("an engine with messages in slots copies and both go on alike") {
  const Network network = small_star(2);
  const Workload workload = one_call(two_messages(1), kBlock, {TimePoint{}, TimePoint{50_us}});
  for (const NetworkModel model : kModels) {
    const ReplayResult whole = replay(network, workload, model);
    Engine engine(network, workload, model);
    bool more = true;
    while (more) {
      more = engine.advance();
      Engine copy(engine);
      while (copy.advance()) {
      }
      CHECK(copy.result().call_ends == whole.call_ends);
    }
  }
}
