#include "sim/execute/run_program/first_difference.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "tests/strategies/step/step_under_test.hpp"

// A verification that fails says where: the first operation that writes what one device has
// otherwise.
namespace lockstep::test {
namespace {

constexpr double kSame = 1e-10;

[[nodiscard]] ModelConfig small_gpt(bool experts = false) {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = 8;
  out.heads = 4;
  out.sequence = 8;
  out.vocabulary = 12;
  if (experts) out.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8};
  return transformer(out);
}

[[nodiscard]] ParallelConfig small_layout() {
  ParallelConfig out;
  out.micro_batch = 1;
  out.state.optimizer = Optimizer::momentum;
  return out;
}

/// After a step of a program that is changed first; empty: no difference.
[[nodiscard]] std::string first_wrong(const ModelConfig& model, ParallelConfig parallel,
                                      const std::function<void(Program&)>& change,
                                      const ExecutionOptions& options = {}) {
  parallel.global_batch = 2L * parallel.dp;
  ParallelConfig alone = small_layout();
  alone.micro_batch = parallel.dp;
  alone.global_batch = parallel.global_batch;
  Program program = build_program(model, parallel, 8);
  const Program one = build_program(model, alone, 8);
  change(program);
  ProgramExecution execution{program, options};
  ProgramExecution reference{one};
  (void)reference.step();
  try {
    (void)execution.step();
  } catch (
      const ExecutionError&) {  // ranks have other losses: what they hold is there all the same
  }
  const auto found = first_difference(execution, reference, kSame);
  return found ? found->text() : "";
}

/// The operation of that name.
[[nodiscard]] Operation& operation(Program& program, std::string_view name) {
  for (Routine& routine : program.routines) {
    for (Operation& each : routine.operations) {
      if (each.name == name) return each;
    }
  }
  FAIL("no such operation");
  return program.routines.front().operations.front();
}

[[nodiscard]] bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE(
    "a sum of tensor parallelism that is left out is named, in the layer where it comes first") {
  ParallelConfig parallel = small_layout();
  parallel.tp = 2;
  const std::string text = first_wrong(small_gpt(), parallel, [](Program& program) {
    operation(program, "mlp.down.tp.all_reduce").communication->over.clear();
  });
  CAPTURE(text);
  CHECK(has(text, ": block 1 microbatch 0: mlp.down.tp.all_reduce writes mlp.down"));
  CHECK(has(text, ", element 0 is "));
  CHECK(has(text, " where one device has "));
  CHECK(has(text, "from mlp.down (matmul)"));
}

TEST_CASE("a gradient that is scaled once too often is named") {
  ParallelConfig parallel = small_layout();
  parallel.dp = 2;
  const std::string text = first_wrong(small_gpt(), parallel, [](Program& program) {
    operation(program, "loss.sum.backward").factor *= 2;
  });
  CAPTURE(text);
  CHECK(has(text, ": block 3 microbatch 0: loss.sum.backward writes logits.gradient"));
}

// The step itself goes wrong from the loss on; what the loss reads comes first.
TEST_CASE("a ring whose parts are mixed up is named where they are first used") {
  ParallelConfig parallel = small_layout();
  parallel.cp = 2;
  const std::string text = first_wrong(small_gpt(), parallel, [](Program& program) {
    operation(program, "attention.part1").ring_offset = 0;
  });
  CAPTURE(text);
  CHECK(has(text, ": block 1 microbatch 0: attention.part1 writes attention.context"));
  CHECK(has(text, "(send_recv)"));
}

TEST_CASE("a right program has no difference, whatever its order") {
  for (std::uint64_t order = 1; order <= 4; ++order) {
    ExecutionOptions options;
    options.order_seed = order;
    ParallelConfig parallel = small_layout();
    parallel.dp = 2;
    parallel.tp = 2;
    parallel.zero = 3;
    CHECK(first_wrong(
              small_gpt(), parallel, [](Program&) {}, options) == "");
    parallel.zero = 0;
    parallel.ep = 2;
    CHECK(first_wrong(
              small_gpt(true), parallel, [](Program&) {}, options) == "");
  }
}

// Every collective in turn, done by everybody alone: whenever a loss or weight comes out wrong, the
// place that is named is that collective or one of what follows from it.
TEST_CASE("collectives that are left out are named themselves, or by who reads them") {
  ParallelConfig parallel = small_layout();
  parallel.tp = 2;
  parallel.sequence_parallel = false;
  const Program whole = build_program(
      small_gpt(),
      [&] {
        ParallelConfig out = parallel;
        out.global_batch = 2;
        return out;
      }(),
      8);
  int named = 0;
  int all = 0;
  for (std::size_t r = 0; r < whole.routines.size(); ++r) {
    for (std::size_t i = 0; i < whole.routines[r].operations.size(); ++i) {
      const Operation& left_out = whole.routines[r].operations[i];
      if (left_out.kind != OperationKind::collective) continue;
      const std::string text = first_wrong(small_gpt(), parallel, [&](Program& program) {
        program.routines[r].operations[i].communication->over.clear();
      });
      CAPTURE(left_out.name);
      CAPTURE(text);
      CHECK(text != "");
      ++all;
      if (has(text, left_out.name + " writes") || has(text, "from " + left_out.name + " (")) {
        ++named;
      }
    }
  }
  CHECK(all >= 6);
  CHECK(named == all);
}

}  // namespace
}  // namespace lockstep::test
