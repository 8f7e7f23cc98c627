#include "sim/trace/peers.hpp"

#include <doctest/doctest.h>

#include "tests/sim/trace/pipeline_step.hpp"

namespace lockstep {
namespace {

TEST_CASE("a send meets the receive of the same tensor on the peer") {
  const TrainingStepTimeline step = two_stages();
  const Peers peers{step};
  CHECK(peers.others({0, kSend0}) == std::vector<Place>{{1, kReceive1}});
  CHECK(peers.others({1, kReceive1}) == std::vector<Place>{{0, kSend0}});
  CHECK(peers.others({1, kSend1}) == std::vector<Place>{{0, kReceive0}});
  CHECK(peers.others({0, kReceive0}) == std::vector<Place>{{1, kSend1}});
  CHECK(peers.others({0, kF0}).empty());
}

TEST_CASE("a transfer starts when both ends have come") {
  const TrainingStepTimeline step = two_stages();
  const Peers peers{step};
  CHECK(peers.transfer_start({1, kReceive1}).ps() == 100);
  CHECK(peers.latest({1, kReceive1}) == Place{0, kSend0});
  CHECK(peers.transfer_start({0, kSend0}).ps() == 100);
  CHECK(peers.latest({0, kSend0}) == Place{0, kSend0});
}

TEST_CASE("a send that was over before its receiver came waited for nobody") {
  // The message lay in a buffer from 130 on; stage 1 posts its receive at 200 and has it at once.
  TrainingStepTimeline step = two_stages();
  OperationTimes& times = step.ranks[1].operations;
  times.set(0, interval(200, 200));
  times.set(1, interval(200, 300));
  times.set(2, interval(300, 430));
  times.set(3, interval(430, 460));
  const Peers peers{step};
  CHECK(peers.latest({0, kSend0}) == Place{0, kSend0});
  CHECK(peers.transfer_start({0, kSend0}).ps() == 100);
  CHECK(peers.latest({1, kReceive1}) == Place{1, kReceive1});
  CHECK(peers.transfer_start({1, kReceive1}).ps() == 200);
}

TEST_CASE("a send that holds its rank until the receiver comes waits for it") {
  TrainingStepTimeline step = two_stages();
  step.ranks[0].operations.set(kSend0, interval(100, 150));
  step.ranks[1].operations.set(kReceive1, interval(120, 150));
  step.ranks[1].operations.set(kF1, interval(150, 230));
  const Peers peers{step};
  CHECK(peers.latest({0, kSend0}) == Place{1, kReceive1});
  CHECK(peers.transfer_start({0, kSend0}).ps() == 120);
}

TEST_CASE("messages that overtake one another are distinguished by their tensors") {
  // Rank 0 sends microbatch 0, then 1; rank 1 posts the receives the other way round.
  Program program;
  program.mesh = Mesh{{{"pp", 2}}};
  program.add(tensor_of("x", 8, Category::activation, true));
  const auto pass = [](OperationKind kind, int microbatch, int offset) {
    Ref ref;
    ref.microbatch = microbatch;
    return communication_of(kind, "pass", ref, kComputeStream, group_of("pp", {0}, offset));
  };
  const RoutineId send = program.add(
      Routine{"send", {pass(OperationKind::send, 0, 1), pass(OperationKind::send, 1, 1)}});
  const RoutineId receive = program.add(
      Routine{"receive", {pass(OperationKind::receive, 1, 1), pass(OperationKind::receive, 0, 1)}});
  program.roles.push_back({"first", {{0, 0}}, false, {{send, 0, 0}}});
  program.roles.push_back({"second", {{0, 1}}, false, {{receive, 0, 0}}});
  const TrainingStepTimeline step = timeline_of(program, {{{0, 1}, {1, 2}}, {{0, 2}, {2, 3}}});
  const Peers peers{step};
  CHECK(peers.others({0, 0}) == std::vector<Place>{{1, 1}});
  CHECK(peers.others({0, 1}) == std::vector<Place>{{1, 0}});
}

/// Every rank of a ring sends `kv` one further and receives into `next`.
TrainingStepTimeline ring(int ranks, const std::vector<std::vector<Ran>>& ran) {
  Program program;
  program.mesh = Mesh{{{"cp", ranks}}};
  const TensorId kv = program.add(tensor_of("kv", 8, Category::activation, true));
  const TensorId next = program.add(tensor_of("next", 8));
  const StreamId out = program.stream("out");
  const StreamId in = program.stream("in");
  const RoutineId round = program.add(
      Routine{"round",
              {communication_of(OperationKind::send, "send", Ref{kv}, out, group_of("cp", {0}, 1)),
               communication_of(OperationKind::receive, "receive", Ref{next}, in,
                                group_of("cp", {0}, -1))}});
  program.roles.push_back({"all", {}, false, {{round, 0, 0}}});
  return timeline_of(program, ran);
}

TEST_CASE("ends that name different tensors meet by their order") {
  const std::vector<Ran> ran{{0, 10}, {0, 10}};
  const TrainingStepTimeline step = ring(3, {ran, ran, ran});
  const Peers peers{step};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(peers.others({rank, 0}) == std::vector<Place>{{(rank + 1) % 3, 1}});
    CHECK(peers.others({rank, 1}) == std::vector<Place>{{(rank + 2) % 3, 0}});
  }
}

TEST_CASE("a rank that was not simulated is stood for by one of its role, never by itself") {
  // Rank 0 of the ring alone: its peers do as it does.
  const TrainingStepTimeline step = ring(3, {{{0, 10}, {0, 10}}});
  const Peers peers{step};
  CHECK(peers.others({0, 0}).empty());
  CHECK(peers.transfer_start({0, 1}).ps() == 0);
}

TEST_CASE("a stand-in is no exact peer") {
  // Stages 0 and 1 of two replicas: ranks 0-1 are stage 0, ranks 2-3 stage 1. Simulated: 1 and 2.
  Program program = two_stage_program();
  program.mesh = Mesh{{{"dp", 2}, {"pp", 2}}};
  for (Role& role : program.roles) role.fixed[0].first = 1;
  for (Routine& routine : program.routines) {
    for (Operation& operation : routine.operations) {
      if (operation.communication) operation.communication->over = {1};
    }
  }
  const TrainingStepTimeline whole = two_stages();
  std::vector<std::vector<Ran>> ran(4, std::vector<Ran>(4));
  TrainingStepTimeline step = timeline_of(program, ran);
  step.ranks = {step.ranks[1], step.ranks[2]};
  step.ranks[0].operations = whole.ranks[0].operations;
  step.ranks[1].operations = whole.ranks[1].operations;
  const Peers peers{step};
  CHECK(peers.others({0, kSend0}) == std::vector<Place>{{1, kReceive1}});
  CHECK(peers.exact_others({0, kSend0}).empty());
  CHECK(peers.exact_others({1, kReceive1}).empty());
}

TEST_CASE("members of a collective meet in the order in which they issue it") {
  const TrainingStepTimeline step = two_replicas();
  const Peers peers{step};
  CHECK(peers.others({0, 1}) == std::vector<Place>{{1, 1}});
  CHECK(peers.latest({0, 1}) == Place{1, 1});
  CHECK(peers.transfer_start({0, 1}).ps() == 120);
  CHECK(peers.exact_others({0, 1}) == std::vector<Place>{{1, 1}});
}

TEST_CASE("only those positions that take part are members") {
  // Four ranks, of which the first and the last share an embedding; ranks 1 and 2 do nothing.
  Program program;
  program.mesh = Mesh{{{"pp", 4}}};
  const TensorId gradient = program.add(tensor_of("g", 8, Category::gradient, true));
  Communication group = group_of("embedding", {0});
  group.participants = {0, 3};
  const RoutineId reduce =
      program.add(Routine{"reduce",
                          {communication_of(OperationKind::collective, "all_reduce", Ref{gradient},
                                            kComputeStream, group)}});
  for (int i = 0; i < 4; ++i) {
    Role role{"stage", {{0, i}}, false, {}};
    if (i == 0 || i == 3) role.calls.push_back({reduce, 0, 0});
    program.roles.push_back(role);
  }
  const TrainingStepTimeline step = timeline_of(program, {{{0, 9}}, {}, {}, {{5, 9}}});
  const Peers peers{step};
  CHECK(peers.others({0, 0}) == std::vector<Place>{{3, 0}});
  CHECK(peers.latest({0, 0}) == Place{3, 0});
}

TEST_CASE("each server meets the workers in its own collectives") {
  // Two workers push to server 0, then to server 1; each server has the one operation.
  Program program;
  program.mesh = Mesh{{{"dp", 2}}};
  const TensorId gradient = program.add(tensor_of("g", 8, Category::gradient, true));
  const auto push = [&](int host) {
    Communication group = group_of("dp", {0});
    group.host = host;
    return communication_of(OperationKind::collective, "push", Ref{gradient}, kComputeStream,
                            group);
  };
  const RoutineId work = program.add(Routine{"work", {push(0), push(1)}});
  program.roles.push_back({"worker", {}, false, {{work, 0, 0}}});
  for (int i = 0; i < 2; ++i) {
    const RoutineId serve = program.add(Routine{"serve", {push(i)}});
    program.roles.push_back({"server", {}, true, {{serve, 0, 0}}});
  }
  TrainingStepTimeline step = timeline_of(program, {{{0, 10}, {10, 20}}, {{5, 10}, {10, 20}}});
  for (int i = 0; i < 2; ++i) {
    RankTimeline host;
    host.rank = 2 + i;
    host.role = static_cast<std::size_t>(1 + i);
    host.operations.push_back(interval(0, 10 + 10 * i));
    step.ranks.push_back(host);
  }
  const Peers peers{step};
  CHECK(peers.others({0, 0}) == std::vector<Place>{{1, 0}, {2, 0}});
  CHECK(peers.others({0, 1}) == std::vector<Place>{{1, 1}, {3, 0}});
  CHECK(peers.others({3, 0}) == std::vector<Place>{{0, 1}, {1, 1}});
  CHECK(peers.latest({2, 0}) == Place{1, 0});
  CHECK_FALSE(peers.other_stage(2, 0));  // to wait for a host is no bubble
}

TEST_CASE("a group without a name has that of its axes, copies to the host have their own") {
  const TrainingStepTimeline step = two_replicas();
  const Peers peers{step};
  CHECK(peers.group(communication_of(OperationKind::collective, "", Ref{}, 0, group_of("", {0}))) ==
        "dp");
  CHECK(peers.group(operation_of(OperationKind::host_copy, "", {}, {})) == "host");
}

TEST_CASE("what bound an operation is what the timeline says, else the last to end before it") {
  TrainingStepTimeline step = two_stages();
  step.ranks[1].operations.set_bound_by(kB1, OperationWaits::kNothing);
  const Peers peers{step};
  CHECK(peers.before({0, kB0}) == Place{0, kReceive0});
  CHECK(peers.before({1, kB1}) == Place{1, kF1});
  CHECK_FALSE(peers.before({0, kF0}));
}

}  // namespace
}  // namespace lockstep
