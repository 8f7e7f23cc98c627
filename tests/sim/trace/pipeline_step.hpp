#pragma once

#include "tests/sim/trace/step_builder.hpp"

namespace lockstep {

/// Operations of either stage of two_stages(), by their index.
inline constexpr std::uint32_t kF0 = 0;
inline constexpr std::uint32_t kSend0 = 1;
inline constexpr std::uint32_t kReceive0 = 2;
inline constexpr std::uint32_t kB0 = 3;
inline constexpr std::uint32_t kReceive1 = 0;
inline constexpr std::uint32_t kF1 = 1;
inline constexpr std::uint32_t kB1 = 2;
inline constexpr std::uint32_t kSend1 = 3;

/// Two stages, one microbatch; forward 100 ps, backward 200 ps, a transfer 30 ps:
///
///     stage 0 compute  F 0-100                                  B 460-660
///             pp       send 100-130  receive 130 (posted) - 460
///     stage 1 compute                F 130-230  B 230-430
///             pp       receive 0 (posted) - 130            send 430-460
inline Program two_stage_program() {
  Program program;
  program.mesh = Mesh{{{"pp", 2}}};
  const StreamId pp = program.stream("pp");
  const TensorId x = program.add(tensor_of("residual", 64));
  const TensorId gradient = program.add(tensor_of("residual.gradient", 32));
  const auto compute = [](std::string name, Purpose purpose, std::vector<Ref> reads,
                          std::vector<Ref> writes) {
    Operation operation =
        operation_of(OperationKind::matmul, std::move(name), std::move(reads), std::move(writes));
    operation.purpose = purpose;
    return operation;
  };
  const auto pass = [&](OperationKind kind, std::string name, Ref tensor, int offset) {
    return communication_of(kind, std::move(name), tensor, pp, group_of("pp", {0}, offset));
  };
  const RoutineId first =
      program.add(Routine{"first",
                          {compute("F", Purpose::forward, {}, {Ref{x, 1}}),
                           pass(OperationKind::send, "send", Ref{x, 1}, 1),
                           pass(OperationKind::receive, "receive", Ref{gradient, 1}, 1),
                           compute("B", Purpose::backward, {Ref{gradient, 1}}, {})}});
  const RoutineId second = program.add(
      Routine{"second",
              {pass(OperationKind::receive, "receive", Ref{x}, -1),
               compute("F", Purpose::forward, {Ref{x}}, {Ref{gradient}}),
               compute("B", Purpose::backward, {Ref{x}, Ref{gradient}}, {Ref{gradient}}),
               pass(OperationKind::send, "send", Ref{gradient}, -1)}});
  program.roles.push_back({"stage 0", {{0, 0}}, false, {{first, 0, 0}}});
  program.roles.push_back({"stage 1", {{0, 1}}, false, {{second, 1, 0}}});
  return program;
}

inline TrainingStepTimeline two_stages() {
  return timeline_of(two_stage_program(),
                     {{{0, 100}, {100, 130, kF0}, {130, 460, kSend0}, {460, 660, kReceive0}},
                      {{0, 130}, {130, 230, kReceive1}, {230, 430, kF1}, {430, 460, kB1}}});
}

/// Two data-parallel ranks: a product of 100 ps (120 on rank 1), its gradient's all-reduce on a
/// stream of its own, which ends at 250, beside a second product; then the update.
inline TrainingStepTimeline two_replicas(std::int64_t rank_1_ready_ps = 120) {
  Program program;
  program.mesh = Mesh{{{"dp", 2}}};
  const StreamId dp = program.stream("dp");
  const TensorId weight = program.add(tensor_of("weight", 10, Category::weight, true));
  const TensorId gradient = program.add(tensor_of("gradient", 10, Category::gradient, true));
  Operation update = operation_of(OperationKind::update, "update", {Ref{gradient}}, {Ref{weight}});
  update.purpose = Purpose::update;
  const RoutineId step = program.add(
      Routine{"step",
              {operation_of(OperationKind::matmul, "last", {Ref{weight}}, {Ref{gradient}}),
               communication_of(OperationKind::collective, "all_reduce", Ref{gradient}, dp,
                                group_of("dp", {0})),
               operation_of(OperationKind::matmul, "first", {Ref{weight}}, {}), update}});
  program.roles.push_back({"all", {}, false, {{step, 0, 0}}});
  const std::int64_t ready = rank_1_ready_ps;
  return timeline_of(program,
                     {{{0, 100}, {100, 250, 0}, {100, 200, 0}, {250, 260, 1}},
                      {{0, ready}, {ready, 250, 0}, {ready, ready + 20, 0}, {250, 260, 1}}});
}

}  // namespace lockstep
