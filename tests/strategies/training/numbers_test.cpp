#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/execute/program/execute_program.hpp"
#include "strategies/training/build_program.hpp"
#include "tests/strategies/training/step_under_test.hpp"

// Every strategy trains the same model as a single device: the program that is simulated is run on
// real numbers. A forgotten reduction, a scale that is off or a shard in the wrong place gives other
// weights.
namespace lockstep {
namespace {

constexpr double kSame = 1e-10;  // in float64, whatever the optimizer
constexpr int kSteps = 2;

TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 4;
  out.hidden = 16;
  out.heads = 4;
  out.sequence = 16;
  out.vocabulary = 32;
  return out;
}

TransformerConfig llama() {
  TransformerConfig out = gpt();
  out.kv_heads = 2;
  out.ffn = 24;
  out.gated = true;
  out.bias = false;
  out.norm = Normalisation::rms;
  out.function = ActivationFunction::swiglu;
  out.positions = Positions::rotary;
  return out;
}

ModelConfig model_of(const TransformerConfig& shape) {
  return test::transformer(shape);
}

/// One device with as many sequences per microbatch as all replicas have together.
ParallelConfig single_device(const ParallelConfig& of) {
  ParallelConfig out;
  out.micro_batch = of.micro_batch * of.dp;
  out.global_batch = of.global_batch;
  out.state = of.state;
  out.state.offload = false;
  return out;
}

std::string trouble(const ModelConfig& model, const ParallelConfig& parallel) {
  const auto problems = plan_problems(model, parallel, parallel.ranks(), 8);
  if (!problems.empty()) return problems.front().message;
  try {
    const Program program = build_program(model, parallel, 8);
    const Program alone = build_program(model, single_device(parallel), 8);
    ProgramExecution execution{program};
    ProgramExecution reference{alone};
    for (int step = 0; step < kSteps; ++step) {
      const double loss = execution.step();
      const double expected = reference.step();
      if (!(std::abs(loss - expected) < kSame)) {
        return fmt::format("step {}: loss {} where one device has {}", step, loss, expected);
      }
    }
    const WeightDifference worst = largest_difference(execution, reference);
    if (!(worst.value < kSame) || !worst.missing.empty()) return worst.text();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

ParallelConfig plan(int dp = 1) {
  ParallelConfig out;
  out.dp = dp;
  out.micro_batch = 2;
  out.global_batch = 2 * dp * 2;
  return out;
}

void check(const ModelConfig& model, const ParallelConfig& parallel) {
  CHECK(trouble(model, parallel) == "");
}

TEST_CASE("tensor parallelism computes what one device does") {
  ParallelConfig parallel = plan();
  parallel.tp = 2;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);
  parallel.tp = 4;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);  // more ranks than heads of keys and values
}

TEST_CASE("sequence parallelism computes what one device does") {
  ParallelConfig parallel = plan();
  parallel.sequence_parallel = true;
  for (const int tp : {2, 4}) {
    parallel.tp = tp;
    check(model_of(gpt()), parallel);
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("data parallelism and ZeRO compute what one device does") {
  for (const int zero : {0, 1, 2, 3}) {
    ParallelConfig parallel = plan(4);
    parallel.zero = zero;
    CAPTURE(zero);
    check(model_of(gpt()), parallel);
    parallel.shard_ranks = 2;
    check(model_of(gpt()), parallel);
    parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("pipelines compute what one device does") {
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    CAPTURE(static_cast<int>(order));
    ParallelConfig parallel = plan();
    parallel.pp = 2;
    parallel.schedule = order;
    parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
    parallel.global_batch = 8;
    check(model_of(gpt()), parallel);
    parallel.tp = 2;
    check(model_of(llama()), parallel);
  }
}

}  // namespace
}  // namespace lockstep
