#include "sim/trace/summary.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

#include "sim/base/check.hpp"
#include "tests/sim/trace/pipeline_step.hpp"

namespace lockstep {
namespace {

std::int64_t computation(const Breakdown& of, OperationClass in) {
  return of.computation[static_cast<std::size_t>(in)].ps();
}

std::int64_t by_purpose(const Breakdown& of, Purpose purpose) {
  return of.purpose[static_cast<std::size_t>(purpose)].ps();
}

TEST_CASE("a stage's idle time is the bubble until its peer sends, then the transfer") {
  const TrainingStepTimeline step = two_stages();
  const Peers peers{step};

  const Breakdown first = breakdown(peers, 0);
  CHECK(computation(first, OperationClass::matmul) == 100 + 200);
  CHECK(by_purpose(first, Purpose::forward) == 100);
  CHECK(by_purpose(first, Purpose::backward) == 200);
  // Idle from 100 to 460: its send until 130, then the receive, whose sender came at 430.
  // (p - 1)(tF + tB) = 300 for the bubble.
  CHECK(first.bubble.ps() == 430 - 130);
  CHECK(first.exposed.at("pp").ps() == 30 + (460 - 430));
  CHECK(first.waiting.ps() == 0);
  CHECK(first.total() == step.end.since_start());

  const Breakdown second = breakdown(peers, 1);
  CHECK(computation(second, OperationClass::matmul) == 100 + 200);
  // Before the first send (100), and after its own from 460 on while stage 0 works.
  CHECK(second.bubble.ps() == 100 + (660 - 460));
  CHECK(second.exposed.at("pp").ps() == 30 + 30);
  CHECK(second.total() == step.end.since_start());
}

TEST_CASE("a receive that is timed from the transfer on waits just as long") {
  // Intervals start when both ends have come; before, the operations are bound by their peer.
  TrainingStepTimeline step = two_stages();
  step.ranks[1].operations.set(kReceive1, interval(100, 130));
  step.ranks[1].operations.set_bound_by(kReceive1, OperationWaits::kPeer);
  step.ranks[0].operations.set(kReceive0, interval(430, 460));
  step.ranks[0].operations.set_bound_by(kReceive0, OperationWaits::kPeer);
  const Peers peers{step};
  CHECK(breakdown(peers, 0).bubble.ps() == 300);
  CHECK(breakdown(peers, 1).bubble.ps() == 300);
  CHECK(breakdown(peers, 0).exposed.at("pp").ps() == 60);
}

TEST_CASE("an all-reduce that computation hides is exposed for the rest alone") {
  const TrainingStepTimeline step = two_replicas();
  const Peers peers{step};
  const Breakdown rank = breakdown(peers, 0);
  // Compute: 0-100, 100-200; idle until 250, when the all-reduce (from 120 on) ends; update 10.
  CHECK(computation(rank, OperationClass::matmul) == 200);
  CHECK(computation(rank, OperationClass::optimizer) == 10);
  CHECK(by_purpose(rank, Purpose::update) == 10);
  CHECK(rank.exposed.at("dp").ps() == 250 - 200);
  CHECK(rank.bubble.ps() == 0);
  CHECK(rank.waiting.ps() == 0);

  const std::vector<GroupTraffic> groups = traffic_by_group(peers, rank);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].group == "dp");
  CHECK(groups[0].operations == 1);
  CHECK(groups[0].transfer.ps() == 250 - 120);
  CHECK(groups[0].waiting.ps() == 120 - 100);
  CHECK(groups[0].exposed.ps() == 50);
  CHECK(groups[0].bytes == Bytes{10});
}

TEST_CASE("the wait for a slower replica is no communication and no bubble") {
  const TrainingStepTimeline step = two_replicas(220);
  const Breakdown rank = breakdown(Peers{step}, 0);
  CHECK(rank.waiting.ps() == 220 - 200);
  CHECK(rank.exposed.at("dp").ps() == 250 - 220);
  CHECK(rank.bubble.ps() == 0);
}

TEST_CASE("the ideal time of a stage has its microbatches' communication, not what ends the step") {
  // Stage 0 computes 300, its messages take 60; (p-1)(tF + tB) = 300 idle.
  const TrainingStepTimeline step = two_stages();
  const Breakdown stage = breakdown(Peers{step}, 0);
  CHECK(stage.of_microbatches.ps() == 300 + 60);
  CHECK(bubble_fraction(stage) == doctest::Approx(300.0 / 360));
  // Of replicas: neither the sum of gradients (exposed 50) nor the update (10).
  TrainingStepTimeline replicas = two_replicas();
  Program program = *replicas.program;
  std::vector<Operation> operations = program.routines[0].operations;
  program.roles[0].calls.clear();
  for (Operation& operation : operations)  // what ends the step is in routines of its own
    program.roles[0].calls.push_back({program.add(Routine{"one", {operation}}), 0, 0});
  replicas.program = std::make_shared<const Program>(std::move(program));
  replicas.roles = unroll(*replicas.program);
  const Breakdown replica = breakdown(Peers{replicas}, 0);
  CHECK(replica.of_microbatches.ps() == 200);
  CHECK(bubble_fraction(replica) == 0);
}

/// A product, then two collectives of different groups one after the other on one stream, then a
/// product that waits for the second; and the step's end 5 ps after it.
TrainingStepTimeline chain() {
  Program program;
  program.mesh = Mesh{{{"tp", 2}}};
  const StreamId stream = program.stream("communication");
  const TensorId x = program.add(tensor_of("x", 8));
  const auto reduce = [&](std::string group) {
    return communication_of(OperationKind::collective, group, Ref{x}, stream, group_of(group, {0}));
  };
  const RoutineId all = program.add(
      Routine{"all",
              {operation_of(OperationKind::matmul, "a", {}, {Ref{x}}), reduce("tp"), reduce("ep"),
               operation_of(OperationKind::attention, "b", {Ref{x}}, {})}});
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  TrainingStepTimeline step =
      timeline_of(program, {{{0, 10}, {10, 30, 0}, {34, 60, 1}, {60, 70, 2}}});
  step.end = step.end + Duration::picoseconds(5);
  return step;
}

TEST_CASE("idle time follows the chain of what was waited for, gaps included") {
  const TrainingStepTimeline step = chain();
  const Breakdown rank = breakdown(Peers{step}, 0);
  CHECK(rank.exposed.at("tp").ps() == 20);
  CHECK(rank.exposed.at("ep").ps() == 26);
  CHECK(rank.waiting.ps() == 4 + 5);  // between the collectives, and at the end
  CHECK(computation(rank, OperationClass::attention) == 10);
  CHECK(rank.exposed_total().ps() == 46);
  CHECK(rank.computation_total().ps() == 20);
  CHECK(rank.total().ps() == 75);
}

TEST_CASE("communication on the compute stream is exposed throughout") {
  TrainingStepTimeline step = chain();
  Program program = *step.program;
  for (Operation& operation : program.routines[0].operations) operation.stream = kComputeStream;
  const TrainingStepTimeline same = timeline_of(program, {{{0, 10}, {10, 30}, {34, 60}, {60, 70}}});
  const Breakdown rank = breakdown(Peers{same}, 0);
  CHECK(rank.exposed.at("tp").ps() == 20);
  CHECK(rank.exposed.at("ep").ps() == 26);
  CHECK(rank.waiting.ps() == 4);
}

TEST_CASE("a copy to the host counts as communication with it") {
  Program program;
  program.add(tensor_of("x", 8));
  program.add(tensor_of("x on the host", 8));
  program.tensors[1].on_host = true;
  const RoutineId all =
      program.add(Routine{"all",
                          {operation_of(OperationKind::matmul, "a", {}, {Ref{0}}),
                           operation_of(OperationKind::host_copy, "down", {Ref{0}}, {Ref{1}})}});
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  const TrainingStepTimeline step = timeline_of(program, {{{0, 10}, {10, 30}}});
  const TrainingStepSummary summary = summarise(step);
  CHECK(summary.busiest.exposed.at("host").ps() == 20);
  CHECK(summary.groups[0].bytes == Bytes{8});
}

TEST_CASE("the message of an all-gather is what it puts together") {
  Program program;
  program.mesh = Mesh{{{"dp", 4}}};
  program.add(tensor_of("part", 8, Category::weight, true));
  program.add(tensor_of("whole", 32));
  Operation gather = communication_of(OperationKind::collective, "gather", Ref{0}, kComputeStream,
                                      group_of("dp", {0}));
  gather.writes = {Ref{1}};
  const RoutineId all = program.add(Routine{"all", {gather}});
  program.roles.push_back({"all", {}, false, {{all, 0, 0}}});
  CHECK(message_bytes(unroll(program, 0), 0) == Bytes{32});
}

TEST_CASE("the critical path passes from stage to stage with the messages") {
  const TrainingStepTimeline step = two_stages();
  const std::vector<PathSegment> path = critical_path(Peers{step});
  struct Expected {
    std::size_t rank;
    std::string what;
    std::int64_t start;
    std::int64_t end;
  };
  // F of stage 0, its message, F and B of stage 1, the message back, B of stage 0.
  const std::vector<Expected> expected{
      {0, "matmul", 0, 100},   {1, "pp communication", 100, 130}, {1, "matmul", 130, 230},
      {1, "matmul", 230, 430}, {0, "pp communication", 430, 460}, {0, "matmul", 460, 660}};
  REQUIRE(path.size() == expected.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    CHECK(path[i].rank == expected[i].rank);
    CHECK(to_string(path[i].use) == expected[i].what);
    CHECK(path[i].interval.start.ps() == expected[i].start);
    CHECK(path[i].interval.end.ps() == expected[i].end);
  }

  const std::vector<PathShare> by_use = shares(path);
  REQUIRE(by_use.size() == 2);
  CHECK(by_use[0].length.ps() == 100 + 100 + 200 + 200);
  CHECK(by_use[0].operations == 4);
  CHECK(by_use[1].length.ps() == 30 + 30);

  const std::vector<PathLeg> in_order = legs(path);
  REQUIRE(in_order.size() == 5);  // F and B of stage 1 are one
  CHECK(in_order[2].operations == 2);
  CHECK(in_order[2].interval.end.ps() == 430);
}

/// two_stages() where stage 0's host waits for the receive before it launches B, 10 ps later; B of
/// stage 1 likewise comes 5 ps after F, which nothing waited for.
TrainingStepTimeline two_stages_of_waiting_hosts() {
  TrainingStepTimeline step = timeline_of(
      two_stage_program(),
      {{{0, 100}, {100, 130, kF0}, {130, 465, kSend0}, {475, 675, OperationWaits::kHost}},
       {{0, 130}, {130, 230, kReceive1}, {235, 435, OperationWaits::kHost}, {435, 465, kB1}}});
  constexpr std::uint32_t kNone = OperationWaits::kNothing;
  step.launched_after = {{kNone, kNone, kNone, kReceive0},
                         {kNone, kReceive1, kReceive1, kReceive1}};
  return step;
}

TEST_CASE(
    "where the host waits for a message, the wait is the message's and its own work is issue") {
  const TrainingStepTimeline step = two_stages_of_waiting_hosts();
  const Peers peers{step};
  const Breakdown first = breakdown(peers, 0);
  // Idle from 130 to 475: until the sender comes at 435 a bubble, then the transfer, then the host.
  CHECK(first.bubble.ps() == 435 - 130);
  CHECK(first.exposed.at("pp").ps() == 30 + 30);
  CHECK(first.issue.ps() == 475 - 465);
  CHECK(first.total() == step.end.since_start());
  // Of the microbatch: all that is computed, both transfers and the launch.
  CHECK(first.of_microbatches.ps() == 300 + 60 + 10);
  CHECK(bubble_fraction(first) == doctest::Approx(305.0 / 370));
  const Breakdown second = breakdown(peers, 1);
  CHECK(second.issue.ps() == 235 - 230);
  CHECK(second.bubble.ps() == 100 + (675 - 465));
}

TEST_CASE("the critical path goes on from the message that a host has waited for") {
  const TrainingStepTimeline step = two_stages_of_waiting_hosts();
  const std::vector<PathSegment> path = critical_path(Peers{step});
  std::vector<std::string> uses;
  for (const PathSegment& segment : path) uses.push_back(to_string(segment.use));
  // F of stage 0, its message, then B of stage 1, which its host launched 105 ps after the message:
  // what F took of that is beside the host. The message back, the launch, B of stage 0.
  CHECK(uses == std::vector<std::string>{"matmul", "pp communication", "kernel launch overhead",
                                         "matmul", "pp communication", "kernel launch overhead",
                                         "matmul"});
  CHECK(path[2].interval.start.ps() == 130);
  CHECK(path[2].interval.end.ps() == 235);
  CHECK(path[5].interval.start.ps() == 465);
  CHECK(path.front().interval.start.ps() == 0);
}

TEST_CASE("the critical path goes through the replica that came last") {
  const TrainingStepTimeline step = two_replicas();
  const std::vector<PathSegment> path = critical_path(Peers{step});
  // Rank 1's product 0-120, the all-reduce 120-250, the update 250-260.
  REQUIRE(path.size() == 3);
  CHECK(path[0].rank == 1);
  CHECK(path[0].interval.end.ps() == 120);
  CHECK(to_string(path[1].use) == "dp communication");
  CHECK(path[1].interval.start.ps() == 120);
  CHECK(to_string(path[2].use) == "optimizer");
}

TEST_CASE("the critical path names what nobody explains a wait") {
  const TrainingStepTimeline step = chain();
  const std::vector<PathSegment> path = critical_path(Peers{step});
  Duration waiting;
  for (const PathSegment& segment : path) {
    if (segment.use == TimeUse::waiting()) {
      waiting += segment.interval.end - segment.interval.start;
    }
  }
  CHECK(waiting.ps() == 4 + 5);
  CHECK(path.back().interval.end == step.end);
}

TEST_CASE("the summary covers the rank that ends last, and of every stage") {
  const TrainingStepTimeline step = two_stages();
  const TrainingStepSummary summary = summarise(step);
  CHECK(summary.step.ps() == 660);
  CHECK(summary.busiest.rank == 0);
  REQUIRE(summary.stages.size() == 2);
  CHECK(summary.stages[0].name == "stage 0");
  // 300 of 660 compute on either stage.
  CHECK(summary.stages[0].idle_fraction == doctest::Approx(360.0 / 660));
  CHECK(summary.stages[1].idle_fraction == doctest::Approx(360.0 / 660));
  CHECK(summary.stages[1].rank.bubble.ps() == 300);
}

TEST_CASE("the operations of the critical path are all of it but its waits") {
  const TrainingStepTimeline step = two_stages();
  const std::vector<PathSegment> path = critical_path(Peers{step});
  Duration expected;
  std::size_t instances = 0;
  for (const PathSegment& segment : path) {
    if (segment.use == TimeUse::waiting()) continue;
    expected += segment.interval.end - segment.interval.start;
    ++instances;
  }
  Duration sum;
  std::size_t found = 0;
  for (const PathOperation& each : operations(path, step)) {
    sum += each.length;
    found += static_cast<std::size_t>(each.instances);
  }
  CHECK(sum == expected);
  CHECK(found == instances);
}

TEST_CASE("of ranks that end together the one that computes longest is reported") {
  // Rank 0 computes 100 + 100 + 10, rank 1 120 + 20 + 10.
  CHECK(summarise(two_replicas()).busiest.rank == 0);
  // Rank 1 now 230 + 20 + 10.
  CHECK(summarise(two_replicas(230)).busiest.rank == 1);
}

TEST_CASE("a step in which nothing happens is all zero") {
  Program program;
  program.roles.push_back({"all", {}, false, {}});
  const TrainingStepSummary summary = summarise(timeline_of(program, {{}}));
  CHECK(summary.step.ps() == 0);
  CHECK(summary.busiest.total().ps() == 0);
  CHECK(summary.path.empty());
  CHECK(summary.stages[0].idle_fraction == 0);
}

TEST_CASE("operations of the compute stream that overlap are refused") {
  TrainingStepTimeline step = two_stages();
  step.ranks[1].operations.set(kB1, interval(229, 430));
  CHECK_THROWS_AS(static_cast<void>(breakdown(Peers{step}, 1)), InternalError);
}

/// Whatever ran when: streams in order, everything else at random, two stages of two replicas.
TrainingStepTimeline random_step(std::uint32_t seed, bool hosts_wait) {
  std::mt19937 draw{seed};
  const auto below = [&](std::uint32_t n) { return static_cast<int>(draw() % n); };
  Program program;
  program.mesh = Mesh{{{"dp", 2}, {"pp", 2}}};
  const StreamId side = program.stream("side");
  program.add(tensor_of("x", 8, Category::activation, true));
  for (int stage = 0; stage < 2; ++stage) {
    Routine routine{"routine", {}};
    for (int i = 0; i < 30; ++i) {
      const StreamId stream = below(3) == 0 ? side : kComputeStream;
      const auto kinds = {OperationKind::matmul, OperationKind::send, OperationKind::receive,
                          OperationKind::collective};
      const OperationKind kind = *(kinds.begin() + below(4));
      const AtomId atom = kind == OperationKind::collective ? 0 : 1;
      Operation operation = communication_of(kind, "o", Ref{0}, stream, group_of("g", {atom}, 1));
      if (kind == OperationKind::matmul) operation.communication.reset();
      routine.operations.push_back(std::move(operation));
    }
    const RoutineId id = program.add(std::move(routine));
    program.roles.push_back({"stage", {{1, stage}}, false, {{id, 0, 0}}});
  }
  std::vector<std::vector<Ran>> ran(4);
  for (int rank = 0; rank < 4; ++rank) {
    std::array<std::int64_t, 2> done{};
    const Routine& routine = program.routines[static_cast<std::size_t>(rank / 2)];
    for (std::uint32_t i = 0; i < 30; ++i) {
      std::int64_t& free = done[routine.operations[i].stream];
      const std::int64_t start = free + below(3) * 5;
      free = start + below(4) * 10;
      std::uint32_t bound = OperationWaits::kNothing;
      if (below(3) == 0) bound = OperationWaits::kPeer;
      if (i > 0 && below(3) == 0) bound = static_cast<std::uint32_t>(below(i));
      if (hosts_wait && below(3) == 0) bound = OperationWaits::kHost;
      ran[static_cast<std::size_t>(rank)].push_back({start, free, bound});
    }
  }
  TrainingStepTimeline out = timeline_of(program, ran);
  for (int stage = 0; hosts_wait && stage < 2; ++stage) {
    std::vector<std::uint32_t>& after = out.launched_after.emplace_back();
    for (std::uint32_t i = 0; i < 30; ++i)
      after.push_back(i == 0 || below(4) == 0 ? OperationWaits::kNothing
                                              : static_cast<std::uint32_t>(below(i)));
  }
  return out;
}

TEST_CASE("every picosecond of a step counts once, whatever the timeline says") {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const TrainingStepTimeline step = random_step(seed, seed > 200);
    const Peers peers{step};
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
      CHECK(breakdown(peers, rank).total() == step.end.since_start());
    }
    TimePoint until;
    for (const PathSegment& segment : critical_path(peers)) {
      CHECK(segment.interval.start == until);
      CHECK(segment.interval.end > segment.interval.start);
      until = segment.interval.end;
    }
    CHECK(until == step.end);
  }
}

}  // namespace
}  // namespace lockstep
