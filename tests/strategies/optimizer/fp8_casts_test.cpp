#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "sim/program/kernel/kernel.hpp"
#include "tests/strategies/step/step_under_test.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kHidden = 32;
constexpr std::int64_t kFfn = 128;
constexpr std::int64_t kTokens = 16;
constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kMicrobatches = 3;
/// Of a layer: the weights of q, k, v and out, up and down; the inputs of qkv, out, up and down;
/// and as many gradients of results: 3h + h, F, h.
constexpr std::int64_t kWeights = 4 * kHidden * kHidden + 2 * kHidden * kFfn;
constexpr std::int64_t kInputs = kTokens * (3 * kHidden + kFfn);
constexpr std::int64_t kGradients = kTokens * (5 * kHidden + kFfn);

ModelConfig gpt() {
  TransformerConfig shape;
  shape.layers = kLayers;
  shape.hidden = kHidden;
  shape.heads = 4;
  shape.sequence = kTokens;
  shape.vocabulary = 64;
  return test::transformer(shape);
}

ParallelConfig layout(bool once) {
  ParallelConfig out;
  out.micro_batch = 1;
  out.global_batch = kMicrobatches;
  out.precision = Dtype::fp8;
  out.recipe.casts = {1, 1};  // a byte per number
  out.recipe.inputs_once = once;
  out.recipe.weights_once = once;
  return out;
}

struct Casts {
  std::int64_t numbers = 0;     // of one rank of a role, in a step
  std::int64_t kernels = 0;     // casts of an operand
  std::int64_t of_weights = 0;  // numbers in casts for a whole step
};

Casts casts(const test::TrainingStepUnderTest& step, std::size_t role = 0) {
  Casts out;
  for (const RoleOperation& operation : step.role(role).operations) {
    const Routine& routine = step.program().routines[operation.call.routine];
    const Kernel kernel = kernel_of(step.program(), routine, operation.index_in_routine);
    if (kernel.math != Dtype::fp8 || kernel.fused_away) continue;
    out.numbers += static_cast<std::int64_t>(kernel.cast_bytes);
    out.kernels += static_cast<std::int64_t>(kernel.cast_kernels);
    if (kernel.kind == OperationKind::cast) {
      out.of_weights += static_cast<std::int64_t>(kernel.cast_bytes);
    }
  }
  return out;
}

// torchao casts both operands of forward, of the input's gradient and of the weight's.
TEST_CASE("if casts serve one GEMM, all operands of all three are cast in each microbatch") {
  const Casts found = casts(test::TrainingStepUnderTest{gpt(), layout(false)});
  CHECK(found.numbers == kLayers * kMicrobatches * 2 * (kWeights + kInputs + kGradients));
  CHECK(found.kernels == kLayers * kMicrobatches * 4 * 3 * 2);
  CHECK(found.of_weights == 0);
}

// Transformer Engine: an input forward, a gradient backward, a weight in the first microbatch.
TEST_CASE("where casts serve several, inputs and gradients are cast once and weights once a step") {
  const Casts found = casts(test::TrainingStepUnderTest{gpt(), layout(true)});
  CHECK(found.of_weights == kLayers * kWeights);
  CHECK(found.numbers == kLayers * (kWeights + kMicrobatches * (kInputs + kGradients)));
  CHECK(found.kernels == kLayers * 4 * (1 + kMicrobatches * 2));
}

TEST_CASE("recomputation casts inputs again, weights not") {
  ParallelConfig with = layout(true);
  with.recompute = Recompute::full;
  const Casts found = casts(test::TrainingStepUnderTest{gpt(), with});
  CHECK(found.of_weights == kLayers * kWeights);
  CHECK(found.numbers == kLayers * (kWeights + kMicrobatches * (2 * kInputs + kGradients)));
}

// Whatever the order of work, every stage casts the weights of its own layers once.
TEST_CASE("every stage of a pipeline casts its own weights once a step") {
  for (const PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
                                    PipelineOrder::zb_h1, PipelineOrder::gpipe}) {
    CAPTURE(static_cast<int>(order));
    ParallelConfig with = layout(true);
    with.pp = 2;
    with.schedule = order;
    with.vpp = order == PipelineOrder::interleaved ? 2 : 1;
    with.global_batch = 4;
    const test::TrainingStepUnderTest step{gpt(), with};
    for (const std::size_t stage : {0U, 1U}) {
      const Casts found = casts(step, stage);
      CHECK(found.of_weights == kLayers / 2 * kWeights);
      CHECK(found.numbers == kLayers / 2 * (kWeights + 4 * (kInputs + kGradients)));
    }
  }
}

// ZeRO-3 gives weights up: cast by the first product after they are gathered, forward, and once
// more backward where they are gathered again.
TEST_CASE("weights that are gathered for every microbatch are cast as often") {
  ParallelConfig with = layout(true);
  with.dp = 2;
  with.zero = 3;
  with.global_batch = 2 * kMicrobatches;
  const std::int64_t others = kInputs + kGradients;
  const Casts again = casts(test::TrainingStepUnderTest{gpt(), with});
  CHECK(again.of_weights == 0);
  CHECK(again.numbers == kLayers * kMicrobatches * (2 * kWeights + others));
  with.reshard_after_forward = false;
  const Casts kept = casts(test::TrainingStepUnderTest{gpt(), with});
  CHECK(kept.numbers == kLayers * kMicrobatches * (kWeights + others));
}

TEST_CASE("in 16 bits nothing is cast") {
  ParallelConfig with = layout(true);
  with.precision = Dtype::bf16;
  const Casts found = casts(test::TrainingStepUnderTest{gpt(), with});
  CHECK(found.numbers == 0);
}

// The first stage's second call: a receive waits, the cast after it.
TEST_CASE("a stage casts its weights when its first microbatch has come") {
  ParallelConfig with = layout(true);
  with.pp = 2;
  with.schedule = PipelineOrder::one_f_one_b;
  with.global_batch = 4;
  const test::TrainingStepUnderTest step{gpt(), with};
  const RoleProgram& second = step.role(1);
  for (std::uint32_t i = 0; i < second.operations.size(); ++i) {
    const RoleOperation& operation = second.operations[i];
    if (operation.operation->kind != OperationKind::cast) continue;
    const std::uint32_t received = operation.after.empty() ? UINT32_MAX : operation.after.front();
    REQUIRE(received < i);
    CHECK(second.operations[received].operation->kind == OperationKind::receive);
    return;
  }
  FAIL("no cast");
}

}  // namespace
}  // namespace lockstep
