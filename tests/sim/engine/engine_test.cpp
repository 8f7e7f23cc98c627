#include "sim/engine/event_loop/engine.hpp"

#include <doctest/doctest.h>

#include <future>
#include <random>

#include "sim/base/check.hpp"
#include "tests/sim/engine/bed.hpp"
#include "tests/sim/engine/schedules.hpp"
#include "tests/sim/engine/star.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr NetworkModel kModels[] = {NetworkModel::fluid, NetworkModel::alpha_beta,
                                    NetworkModel::queue};

Activity compute(Duration duration) {
  Activity out;
  out.duration = duration;
  return out;
}
Activity send(EndpointId to, Bytes size, std::uint32_t tag = 0) {
  Activity out;
  out.kind = Activity::Kind::send;
  out.peer = to;
  out.size = size;
  out.tag = tag;
  return out;
}
Activity receive(EndpointId from, Bytes size, std::uint32_t tag = 0) {
  Activity out = send(from, size, tag);
  out.kind = Activity::Kind::receive;
  return out;
}
Activity collective(std::uint32_t member) {
  Activity out;
  out.kind = Activity::Kind::collective;
  out.member = member;
  return out;
}

std::vector<TimePoint> random_starts(int n, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::vector<TimePoint> out;
  for (int i = 0; i < n; ++i)
    out.emplace_back(Duration::picoseconds(static_cast<std::int64_t>(draw() % 50'000'000)));
  return out;
}

ReplayResult run_out(Engine& engine) {
  while (engine.advance()) {
  }
  return engine.result();
}

}  // namespace

TEST_CASE("streams of a rank run side by side, operations of a stream one after the other") {
  // Stream a: 3 us + 4 us; stream b: 5 us; both on rank 0.
  const Network network = star(1, 1_GBps, 0_us);
  Workload workload;
  workload.streams.push_back({0, "a", {compute(3_us), compute(4_us)}});
  workload.streams.push_back({0, "b", {compute(5_us)}});
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  CHECK(result.stream_ends[0] == std::vector<TimePoint>{TimePoint{3_us}, TimePoint{7_us}});
  CHECK(result.stream_ends[1] == std::vector<TimePoint>{TimePoint{5_us}});
  CHECK(result.end == TimePoint{7_us});
}

TEST_CASE("a replay of a collective reports its share by the transfers that have arrived") {
  // 30,000 messages one after the other: after each half of them half of the time has gone.
  constexpr std::int64_t kMessages = 30'000;
  const Network network = star(2, 1_GBps, 0_us);
  const auto script = [](int rank, int, std::int64_t, ScheduleStep& step) {
    const Chunk chunk{Buffer::data, 0, 1};
    if (rank == 0) step.sends.push_back({1, chunk});
    if (rank == 1) step.receives.push_back({0, chunk, Combine::copy});
  };
  const Workload workload =
      one_call(std::make_shared<Scripted>(2, 1, kMessages, script), Bytes{1000});
  for (const NetworkModel model : kModels) {
    std::vector<ReplayProgress> seen;
    const ReplayResult result =
        replay(network, workload, model, [&](const ReplayProgress& now) { seen.push_back(now); });
    REQUIRE(seen.size() >= 3);
    for (const ReplayProgress& each : seen)
      CHECK(each.share ==
            doctest::Approx(each.now.since_start().seconds() / result.end.since_start().seconds())
                .epsilon(1e-3));
  }
}

TEST_CASE("a member that no stream calls begins with the first that one calls") {
  // Rank 0 sends 1 kB at once to rank 1, which no stream calls and which is there from 3 us on,
  // when rank 0's stream gets to the collective: 1 us at 1 GB/s.
  for (const bool reuses : {false, true}) {
    const Network network = star(2, 1_GBps, 0_us);
    Workload workload;
    const auto script = [](int rank, int, std::int64_t, ScheduleStep& step) {
      const Chunk chunk{Buffer::data, 0, 1};
      if (rank == 0) step.sends.push_back({1, chunk});
      if (rank == 1) step.receives.push_back({0, chunk, Combine::copy});
    };
    workload.calls.push_back(
        {"follow", std::make_shared<Scripted>(2, 1, 1, script), {0, 1}, Bytes{1000}, {}});
    workload.streams.push_back({0, "a", {compute(3_us), collective(0)}});
    Engine engine(network, workload, NetworkModel::fluid, reuses);
    const ReplayResult result = run_out(engine);
    CHECK(result.unfinished.empty());
    CHECK(result.stream_ends[0].back() == TimePoint{4_us});
    CHECK(result.call_ends[0] == std::vector<TimePoint>{TimePoint{4_us}, TimePoint{4_us}});
  }
}

TEST_CASE("an operation is issued at a time, or so long after the end of one before it") {
  // On one stream: 3 us, then issued 2 us after its end, 1 us long: 6 us. On the other: issued at
  // 5 us and, 4 us after the end of the first stream's second, at 10 us.
  const Network network = star(1, 1_GBps, 0_us);
  Workload workload;
  Activity next = compute(1_us);
  next.launched_after = ActivityRef{0, 0};
  next.not_before = TimePoint{2_us};
  Activity timed = compute(1_us);
  timed.not_before = TimePoint{5_us};
  Activity beside = compute(1_us);
  beside.after = {{0, 1}};
  beside.launched_after = ActivityRef{0, 1};
  beside.not_before = TimePoint{4_us};
  workload.streams.push_back({0, "a", {compute(3_us), next}});
  workload.streams.push_back({0, "b", {timed, beside}});
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  CHECK(result.stream_ends[0] == std::vector<TimePoint>{TimePoint{3_us}, TimePoint{6_us}});
  CHECK(result.stream_ends[1] == std::vector<TimePoint>{TimePoint{6_us}, TimePoint{11_us}});
}

TEST_CASE("an operation waits for operations of other streams that it names, twice named or not") {
  const Network network = star(1, 1_GBps, 0_us);
  Workload workload;
  workload.streams.push_back({0, "compute", {compute(3_us), compute(4_us)}});
  Activity update = compute(1_us);
  update.after = {{0, 0}, {0, 1}, {0, 1}};
  workload.streams.push_back({0, "optimizer", {compute(1_us), update}});
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  CHECK(result.stream_ends[1][1] == TimePoint{8_us});
  CHECK(result.unfinished.empty());
}

TEST_CASE("communication overlaps computation and several transfers of a rank go on at once") {
  // 1 GB/s, no latency. Rank 0 sends 2 kB to rank 1 and 2 kB to rank 2 on two streams: they share
  // its port, 4 us. Meanwhile it computes 4 us.
  const Network network = star(3, 1_GBps, 0_us);
  Workload workload;
  workload.streams.push_back({0, "compute", {compute(4_us)}});
  workload.streams.push_back({0, "comm", {send(1, Bytes{2000})}});
  workload.streams.push_back({0, "comm2", {send(2, Bytes{2000})}});
  workload.streams.push_back({1, "comm", {receive(0, Bytes{2000})}});
  workload.streams.push_back({2, "comm", {receive(0, Bytes{2000})}});
  for (const NetworkModel model : kModels)
    CHECK(replay(network, workload, model).end == TimePoint{4_us});
}

TEST_CASE("the sender's software takes one message at a time") {
  // Overhead 1 us per message, then 2 us latency and 1 kB at 1 GB/s. Two messages issued together:
  // they leave at 1 and 2 us; on the sender's port they overlap from 4 to ...: fluid: first alone
  // from 3 to 4 us, done at 4; second from 4 to 5.
  const Network network = star(3, 1_GBps, 2_us, {.message_overhead = 1_us, .reduce_rate = {}});
  Workload workload;
  workload.streams.push_back({0, "a", {send(1, Bytes{1000})}});
  workload.streams.push_back({0, "b", {send(2, Bytes{1000})}});
  workload.streams.push_back({1, "a", {receive(0, Bytes{1000})}});
  workload.streams.push_back({2, "a", {receive(0, Bytes{1000})}});
  for (const NetworkModel model : kModels) {
    const ReplayResult result = replay(network, workload, model);
    CHECK(result.stream_ends[2][0] == TimePoint{4_us});
    CHECK(result.stream_ends[3][0] == TimePoint{5_us});
  }
}

TEST_CASE("a rank reduces at its own rate, one arrival after the other") {
  // Ranks 1 and 2 send 1 kB each to rank 0 at 1 GB/s at once: both arrive at 2 us (fluid); then
  // 1 us of reduction each, the second after the first.
  const auto gather =
      std::make_shared<Scripted>(3, 1, 1, [](int rank, int, std::int64_t, ScheduleStep& s) {
        if (rank == 0) {
          s.receives.push_back({1, {Buffer::data, 0, 1}, Combine::reduce});
          s.receives.push_back({2, {Buffer::data, 0, 1}, Combine::reduce});
        } else {
          s.sends.push_back({0, {Buffer::data, 0, 1}});
        }
      });
  const Network network = star(3, 1_GBps, 0_us, {.message_overhead = {}, .reduce_rate = 1_GBps});
  const ReplayResult result = replay(network, one_call(gather, Bytes{1000}), NetworkModel::fluid);
  CHECK(result.call_ends[0][0] == TimePoint{4_us});
  CHECK(result.call_ends[0][1] == TimePoint{2_us});
}

TEST_CASE("a repeated step gives the same times bound as asked for anew") {
  // The repetition that phases() declares is a shortcut of the engine's and must not show, neither
  // when ranks start apart nor with overhead and reductions.
  const Endpoint busy{.message_overhead = 300_ns, .reduce_rate = 30_GBps};
  for (const int n : {2, 3, 8, 17})
    for (const Endpoint& endpoint : {Endpoint{}, busy})
      for (const NetworkModel model : kModels) {
        CAPTURE(n);
        const Network network = star(static_cast<std::size_t>(n), 50_GBps, 2_us, endpoint);
        const auto starts = random_starts(n, static_cast<std::uint64_t>(n));
        const auto phased =
            replay(network, one_call(std::make_shared<TinyRing>(n, true), 64_KiB, starts), model);
        const auto plain =
            replay(network, one_call(std::make_shared<TinyRing>(n, false), 64_KiB, starts), model);
        CHECK(phased.call_ends == plain.call_ends);
        CHECK(phased.link_bytes == plain.link_bytes);
        CHECK(phased.transfers == plain.transfers);
        CHECK(phased.unfinished.empty());
      }
}

TEST_CASE("an end of a repeated transfer that goes on to other things is still met") {
  // Rank 0 repeats its send to rank 1 for 4 steps; rank 1 declares no repetition beyond its own
  // first two receives because its phases are rank 0's too: steps 0-1 repeat, 2-3 are posted anew.
  class Uneven final : public Schedule {
   public:
    [[nodiscard]] int ranks() const override { return 2; }
    [[nodiscard]] std::int64_t blocks() const override { return 1; }
    [[nodiscard]] std::int64_t steps(int, int) const override { return 4; }
    void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
      if (rank == 0) step.sends.push_back({1, {Buffer::data, 0, 1}});
      if (rank == 1) step.receives.push_back({0, {Buffer::data, 0, 1}});
    }
    [[nodiscard]] std::vector<Phase> phases() const override { return {{0, 2}}; }
  };
  const Network network = star(2, 1_GBps, 1_us);
  const auto result =
      replay(network, one_call(std::make_shared<Uneven>(), Bytes{1000}), NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(result.end == TimePoint{8_us});  // four times 1 us + 1 kB / 1 GB/s
}

TEST_CASE("a repeated transfer that waits is on no link, also while others tell its links apart") {
  // Links A, B of 1 GB/s and C of 0.1 GB/s. Rank 0 sends 100 kB to rank 1 twice, over A and B; rank
  // 1 sends as much to rank 2 over C in the same steps, which takes 1 ms each. The first transfer
  // over A and B shares them with one of end point 3 until 200 us, then the connection waits until
  // 1 ms. Meanwhile end points 5 and 7 send 100 kB each over B, at 500 us: half of it each.
  class Chain final : public Schedule {
   public:
    [[nodiscard]] int ranks() const override { return 3; }
    [[nodiscard]] std::int64_t blocks() const override { return 1; }
    [[nodiscard]] std::int64_t steps(int, int) const override { return 2; }
    void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
      if (rank < 2) step.sends.push_back({rank + 1, {Buffer::data, 0, 1}});
      if (rank > 0) step.receives.push_back({rank - 1, {Buffer::data, 0, 1}});
    }
    [[nodiscard]] std::vector<Phase> phases() const override { return {{0, 2}}; }
  };
  const Bytes size{100'000};
  Network network;
  const Link fast{1_GBps, Duration{}};
  network.links = {fast, fast, {Rate::bytes_per_second(100'000'000), Duration{}}};
  network.endpoints.resize(9);
  const auto routes = std::make_shared<ListedRoutes>();
  routes->routes[{0, 1}].hops = routes->routes[{3, 4}].hops = {{0}, {1}};
  routes->routes[{1, 2}].hops = {{2}};
  routes->routes[{5, 6}].hops = routes->routes[{7, 8}].hops = {{1}};
  network.router = routes;
  Workload workload = one_call(std::make_shared<Chain>(), size);
  workload.streams = {{3, "early", {send(4, size)}},
                      {4, "early", {receive(3, size)}},
                      {5, "late", {compute(500_us), send(6, size)}},
                      {6, "late", {receive(5, size)}},
                      {7, "late", {compute(500_us), send(8, size)}},
                      {8, "late", {receive(7, size)}}};
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  CHECK(result.stream_ends[0].back() == TimePoint{200_us});
  CHECK(result.stream_ends[2].back() == TimePoint{700_us});
  CHECK(result.stream_ends[4].back() == TimePoint{700_us});
  CHECK(result.end == TimePoint{2_ms});
}

TEST_CASE("lanes wait for the steps of other lanes that they name") {
  // Lane 1 of rank 0 sends after lane 0's second step: 2 + 1 transfers of 1 us in a row.
  const auto schedule = std::make_shared<Scripted>(
      2, 2, 2, [](int rank, int lane, std::int64_t index, ScheduleStep& s) {
        if (lane == 1 && index == 1) return;
        if (rank == 0) s.sends.push_back({1, {Buffer::data, 0, 1}, lane});
        if (rank == 1) s.receives.push_back({0, {Buffer::data, 0, 1}, Combine::copy, lane});
        if (rank == 0 && lane == 1) s.after.push_back({0, 1});
      });
  const Network network = star(2, 1_GBps, 0_us);
  const auto result = replay(network, one_call(schedule, Bytes{1000}), NetworkModel::fluid);
  CHECK(result.unfinished.empty());
  CHECK(result.end == TimePoint{3_us});
}

TEST_CASE("a collective begins on each rank when its stream reaches it") {
  // Rank 1 computes 10 us first: the exchange of 1 kB at 1 GB/s each way begins then.
  Workload workload = one_call(std::make_shared<TinyRing>(2), Bytes{1000});
  workload.streams.push_back({0, "main", {collective(0), compute(1_us)}});
  workload.streams.push_back({1, "main", {compute(10_us), collective(1)}});
  const Network network = star(2, 1_GBps, 0_us);
  const auto result = replay(network, workload, NetworkModel::fluid);
  CHECK(result.call_ends[0] == std::vector<TimePoint>{TimePoint{12_us}, TimePoint{12_us}});
  CHECK(result.stream_ends[0][1] == TimePoint{13_us});
}

TEST_CASE("collectives that follow each other take each other's place, and neither is forgotten") {
  // An exchange of 1 kB at 1 GB/s each way takes 1 us a step, two steps: the k-th ends at 2 k us.
  // The last never begins on rank 1, so that it ends nowhere.
  constexpr std::uint32_t kCalls = 4;
  Workload workload;
  std::vector<Activity> of_rank[2];
  for (std::uint32_t call = 0; call < kCalls; ++call) {
    workload.calls.push_back(one_call(std::make_shared<TinyRing>(2), Bytes{1000}).calls[0]);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      if (rank == 1 && call == kCalls - 1) continue;
      of_rank[rank].push_back(collective(rank));
      of_rank[rank].back().call = call;
    }
  }
  of_rank[1].push_back(receive(0, 1_B));  // nobody sends it
  of_rank[1].push_back(collective(1));
  of_rank[1].back().call = kCalls - 1;
  for (EndpointId rank = 0; rank < 2; ++rank)
    workload.streams.push_back({rank, "main", of_rank[rank]});
  const Network network = star(2, 1_GBps, 0_us);
  const auto result = replay(network, workload, NetworkModel::fluid);
  for (int call = 0; call < 3; ++call)
    CHECK(result.call_ends[static_cast<std::size_t>(call)] ==
          std::vector<TimePoint>(2, TimePoint{2_us * (call + 1)}));
  bool told = false;
  for (const Unfinished& one : result.unfinished)
    told = told || (one.endpoint == 1 && one.text.find("never reached it") != std::string::npos);
  CHECK(told);
}

TEST_CASE("a member that comes to one call twice waits for the others, and is not forgotten") {
  Workload workload = one_call(std::make_shared<TinyRing>(2), Bytes{1000});
  workload.streams.push_back({0, "main", {collective(0), collective(0)}});
  workload.streams.push_back({1, "main", {collective(1)}});
  const auto result = replay(star(2, 1_GBps, 0_us), workload, NetworkModel::fluid);
  CHECK(result.stream_ends[1][0] == TimePoint{2_us});
  REQUIRE(result.unfinished.size() >= 1);
  CHECK(std::any_of(result.unfinished.begin(), result.unfinished.end(), [](const Unfinished& one) {
    return one.endpoint == 1 && one.text.find("never reached it") != std::string::npos;
  }));
}

TEST_CASE("a call is executed again after all of its members have ended it, not before") {
  // Rank 0 is done when rank 1 has its message, whether or not rank 2 has begun to receive from 1.
  const auto chain =
      std::make_shared<Scripted>(3, 1, 1, [](int rank, int, std::int64_t, ScheduleStep& step) {
        if (rank == 1) step.receives.push_back({0, {Buffer::data, 0, 1}, Combine::copy});
        if (rank == 0) step.sends.push_back({1, {Buffer::data, 0, 1}});
        if (rank == 2) step.receives.push_back({1, {Buffer::data, 1, 1}, Combine::copy});
        if (rank == 1) step.sends.push_back({2, {Buffer::data, 1, 1}});
      });
  const auto of = [&](Duration late) {
    Workload workload = one_call(chain, Bytes{1000});
    for (EndpointId rank = 0; rank < 3; ++rank) {
      Activity before;
      before.duration = rank == 2 ? late : 0_us;
      Activity gap;
      gap.duration = 1_us;
      workload.streams.push_back({rank, "main", {before, collective(rank), gap, collective(rank)}});
    }
    return workload;
  };
  const Network network = star(3, 1_GBps, 0_us);
  for (const auto& ends : replay(network, of(0_us), NetworkModel::fluid).stream_ends)
    CHECK(ends.back() == TimePoint{3_us});
  CHECK_THROWS_AS((void)replay(network, of(5_us), NetworkModel::fluid), InternalError);
}

TEST_CASE("an engine copied while running goes on exactly as its original, and independently") {
  // Folding splits a class while it runs by copying the representative (DEFINITIONS).
  for (const NetworkModel model : kModels) {
    const Network network = star(9, 3_GBps, 1_us);
    Workload workload = one_call(std::make_shared<TinyRing>(9), Bytes{12'345}, random_starts(9, 4));
    CollectiveCall second = workload.calls[0];
    second.starts = random_starts(9, 5);
    workload.calls.push_back(second);
    Engine whole(network, workload, model);
    const ReplayResult expected = run_out(whole);
    Engine original(network, workload, model);
    for (int i = 0; i < 40; ++i) REQUIRE(original.advance());
    Engine copy(original);
    const ReplayResult first = run_out(copy);
    const ReplayResult later = run_out(original);
    CHECK(first.call_ends == expected.call_ends);
    CHECK(later.call_ends == expected.call_ends);
    CHECK(later.link_bytes == expected.link_bytes);
    CHECK(later.unfinished.empty());
  }
}

TEST_CASE("many simulations at once, on several threads, agree with one alone") {
  const Network network = star(16, 50_GBps, 2_us);
  const Workload workload = one_call(std::make_shared<TinyRing>(16), 64_KiB, random_starts(16, 1));
  const auto alone = replay(network, workload, NetworkModel::fluid).call_ends;
  std::vector<std::future<std::vector<std::vector<TimePoint>>>> runs;
  for (int i = 0; i < 8; ++i)
    runs.push_back(std::async(std::launch::async, [&] {
      return replay(network, workload, NetworkModel::fluid).call_ends;
    }));
  for (auto& run : runs) CHECK(run.get() == alone);
}

TEST_CASE("ranks of a symmetric star may be renumbered without changing any time") {
  // Member i sits on host (5 i) mod 8 instead of host i: on a star nothing else changes.
  const Network network = star(8, 50_GBps, 2_us);
  Workload plain = one_call(std::make_shared<TinyRing>(8), 64_KiB, random_starts(8, 3));
  Workload moved = plain;
  for (EndpointId i = 0; i < 8; ++i) moved.calls[0].members[i] = (5 * i) % 8;
  for (const NetworkModel model : {NetworkModel::fluid, NetworkModel::alpha_beta})
    CHECK(replay(network, plain, model).call_ends == replay(network, moved, model).call_ends);
}
