#include "sim/trace/memory/peak_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sim/trace/memory/memory.hpp"
#include "tests/sim/trace/step_builder.hpp"

namespace lockstep {
namespace {

using Kind = OperationKind;

std::uint32_t below(std::mt19937_64& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

/// Tensors of all kinds, on device and host, filled at first and then added up on two streams.
Program drawn_program(std::mt19937_64& random) {
  Program program;
  const StreamId side = program.stream("side");
  Routine routine{"all", {}};
  for (TensorId i = 0; i < 12; ++i) {
    Tensor tensor = tensor_of("t", 1 + below(random, 1000), Category::activation, i % 5 == 4);
    tensor.on_host = below(random, 4) == 0;
    program.add(std::move(tensor));
    routine.operations.push_back(operation_of(Kind::fill, "fill", {}, {Ref{i}}));
  }
  for (int i = 0; i < 40; ++i)
    routine.operations.push_back(
        operation_of(Kind::add, "add", {Ref{below(random, 12)}, Ref{below(random, 12)}},
                     {Ref{below(random, 12)}}, below(random, 2) == 0 ? side : kComputeStream));
  const RoutineId all = program.add(std::move(routine));
  program.roles.push_back({"all", {}, below(random, 8) == 0, {{all, 0, 0}}});
  return program;
}

RankTimeline in_order(const RoleProgram& role) {
  RankTimeline out;
  for (std::size_t i = 0; i < role.operations.size(); ++i)
    out.operations.push_back(
        interval(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1));
  return out;
}

/// Whenever: operations of a stream overlap and change places, and some take no time.
RankTimeline drawn_times(const RoleProgram& role, std::mt19937_64& random) {
  RankTimeline out;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const std::int64_t start = below(random, 60);
    out.operations.push_back(interval(start, start + below(random, 12)));
  }
  return out;
}

Bytes account_peak(const RoleProgram& role, const RankTimeline& rank) {
  return memory_account(role, rank).device.peak.held.total();
}

}  // namespace

// The account makes a curve, checked against sums over the tensors in memory_test.cpp.
TEST_CASE("the peak on its own is that of the memory account") {
  std::mt19937_64 random{7};
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    const Program program = drawn_program(random);
    const RoleProgram role = unroll(program, 0);
    CHECK(peak_memory_in_order(role) == account_peak(role, in_order(role)));
    CHECK(peak_memory(role, in_order(role)) == peak_memory_in_order(role));
    const RankTimeline times = drawn_times(role, random);
    CHECK(peak_memory(role, times) == account_peak(role, times));
  }
}

// 8 and 4 bytes are held together while the second is made of the first; 9 follow when these are
// free again.
TEST_CASE("what ends at an instant is free before what begins then") {
  Program program;
  const Ref a{program.add(tensor_of("a", 8))};
  const Ref b{program.add(tensor_of("b", 4))};
  const Ref c{program.add(tensor_of("c", 9))};
  program.add(Routine{
      "all",
      {operation_of(Kind::fill, "fill", {}, {a}), operation_of(Kind::scale, "scale", {a}, {b}),
       operation_of(Kind::fill, "other", {}, {c})}});
  program.roles.push_back({"all", {}, false, {{0, 0, 0}}});
  CHECK(peak_memory_in_order(unroll(program, 0)) == Bytes{12});
}

}  // namespace lockstep
