#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/execute/run_program/execute_program.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// An execution goes on where another one has stopped; float32 does what float64 does, as far as it
// can.
namespace lockstep::test {
namespace {

[[nodiscard]] Program program_of(const ParallelConfig& parallel) {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = 4;
  shape.sequence = 8;
  shape.vocabulary = 12;
  shape.dropout = 0.1;  // drawn by the number of the step
  return build_program(transformer(shape), parallel, 8);
}

[[nodiscard]] ParallelConfig layout(int zero, Optimizer optimizer) {
  ParallelConfig out;
  out.dp = 2;
  out.global_batch = 4;
  out.zero = zero;
  out.state.optimizer = optimizer;
  return out;
}

// Adam's moments, its correction by the number of the step and the data of a step: all go on.
TEST_CASE("steps that change hands are those of one execution, to the bit") {
  for (const int zero : {0, 1, 3}) {
    const Program program = program_of(layout(zero, Optimizer::adam));
    ProgramExecution all{program};
    ProgramExecution first{program};
    ProgramExecution second{program};
    (void)all.step();
    (void)first.step();
    second.take_over(first);
    CHECK(second.step() == all.step());
    first.take_over(second);
    CHECK(first.step() == all.step());
    const auto held = first.weights();
    const auto expected = all.weights();
    REQUIRE(held.size() == expected.size());
    for (std::size_t i = 0; i < held.size(); ++i) CHECK(*held[i].values == *expected[i].values);
  }
}

TEST_CASE("what another layout keeps in other parts cannot be taken over") {
  const Program sharded = program_of(layout(1, Optimizer::adam));
  const Program whole = program_of(layout(0, Optimizer::adam));
  const ProgramExecution from{whole};
  ProgramExecution to{sharded};
  CHECK_THROWS_AS(to.take_over(from), ExecutionError);
}

TEST_CASE("moments are compared by name, and SGD has none") {
  const Program adam = program_of(layout(0, Optimizer::adam));
  const Program sgd = program_of(layout(0, Optimizer::sgd));
  ProgramExecution with{adam};
  ProgramExecution without{sgd};
  CHECK_FALSE(with.states().empty());
  CHECK(without.states().empty());
  CHECK(largest_state_difference(without, without).value < 0);
  ProgramExecution other{adam};
  (void)with.step();
  CHECK(largest_state_difference(with, other).value > 1e-6);
  (void)other.step();
  CHECK(largest_state_difference(with, other).value < 1e-15);  // the order of sums may differ
}

// 24 bits of mantissa: sums of some hundred terms of about one are right to some 1e-6.
TEST_CASE("float32 does what float64 does, but for rounding") {
  const Program program = program_of(layout(2, Optimizer::sgd));
  ProgramExecution wide{program};
  BasicProgramExecution<float> narrow{program};
  for (int step = 0; step < 2; ++step) {
    const double apart = std::abs(wide.step() - narrow.step());
    CHECK(apart < 1e-5);
    CHECK(apart > 0);
  }
}

}  // namespace
}  // namespace lockstep::test
