#include <doctest/doctest.h>

#include "sim/program/kernel/kernel.hpp"
#include "sim/trace/memory/memory.hpp"
#include "strategies/scenario/scenario.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// What a recipe for GEMMs in at most 8 bits changes in a step, against closed forms. Symbols: s
// sequence, b microbatch, h hidden, t = tp. Which tensors a GPT layer keeps: Korthikanti et al.,
// arXiv 2205.05198, section 4.1. What Transformer Engine casts and keeps: pytorch/module/linear.py.
namespace lockstep::test {
namespace {

constexpr std::int64_t kS = 64;
constexpr std::int64_t kB = 2;
constexpr std::int64_t kH = 128;
constexpr std::int64_t kSbh = kS * kB * kH;

[[nodiscard]] TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = kH;
  out.heads = 8;
  out.sequence = kS;
  out.vocabulary = 128;
  out.attention = AttentionKind::unfused;
  return out;
}

[[nodiscard]] TransformerConfig mixture() {
  TransformerConfig out = gpt();
  out.experts = ExpertsConfig{};
  out.experts->experts = 4;
  out.experts->top_k = 2;
  out.experts->ffn = 4 * kH;
  return out;
}

[[nodiscard]] ParallelConfig layout(int tp, bool sequence_parallel, Dtype precision) {
  ParallelConfig out;
  out.tp = tp;
  out.sequence_parallel = sequence_parallel;
  out.micro_batch = kB;
  out.global_batch = kB;
  out.precision = precision;
  out.recipe.products = precision;
  out.recipe.inputs_once = out.recipe.weights_once = true;
  out.recipe.stores_operands = true;
  return out;
}

[[nodiscard]] std::int64_t kept(const TrainingStepUnderTest& step) {
  LiveQuery query;
  query.forward = {step.routine("layer.forward")};
  query.backward = {step.routine("layer.backward")};
  query.position = 1;
  return total_bytes(live_between(step.role(), query)).count();
}

[[nodiscard]] std::int64_t gathered(const TrainingStepUnderTest& step, const char* routine) {
  return step.traffic("tp", Collective::all_gather, routine).bytes;
}

TEST_CASE("inputs of linear layers are kept in 8 bits: 7 sbh less of 34") {
  // The inputs of the projections (2 sbh), of that of attention's result (2), of the MLP (2) and
  // of its second GEMM (8) lose half; nothing but GEMMs reads them backward.
  for (const int t : {1, 2, 4}) {
    CAPTURE(t);
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && t == 1) continue;
      CAPTURE(sequence_parallel);
      const auto of = [&](Dtype precision) {
        return kept({transformer(gpt()), layout(t, sequence_parallel, precision)});
      };
      const std::int64_t whole = 2 * kSbh / (sequence_parallel ? t : 1);
      CHECK(of(Dtype::bf16) - of(Dtype::fp8) == whole + 5 * kSbh / t);
    }
  }
}

// DeepSeek-AI 2024 (arXiv 2412.19437), section 3.3.3: GELU's input, 8 sbh in 16 bits, loses half.
TEST_CASE("inputs of activation functions are kept in 8 bits where the recipe says so") {
  for (const int t : {1, 2}) {
    CAPTURE(t);
    ParallelConfig with = layout(t, false, Dtype::fp8);
    const std::int64_t wide = kept({transformer(gpt()), with});
    with.recipe.stores_activation_inputs = true;
    CHECK(wide - kept({transformer(gpt()), with}) == 4 * kSbh / t);
  }
}

TEST_CASE("scales of blocks are kept along") {
  const auto of = [&](Dtype precision) {
    return kept({transformer(gpt()), layout(1, false, precision)});
  };
  // A byte per 32 numbers; half a byte per number and one per 16.
  CHECK(of(Dtype::fp8_block) - of(Dtype::fp8) == 7 * kSbh / 32);
  CHECK(of(Dtype::fp8) - of(Dtype::nvfp4) == 7 * kSbh - 7 * kSbh * 9 / 16);
}

TEST_CASE("tensor parallelism gathers operands in 8 bits, forward and backward") {
  const auto of = [&](Dtype precision) {
    return TrainingStepUnderTest{transformer(gpt()), layout(2, true, precision)};
  };
  const TrainingStepUnderTest wide = of(Dtype::bf16);
  const TrainingStepUnderTest narrow = of(Dtype::fp8);
  // Forward the inputs of both column-parallel layers; backward those again and the gradients of
  // the results of both row-parallel ones.
  CHECK(gathered(wide, "layer.forward") == 2 * 2 * 2 * kSbh);
  CHECK(gathered(narrow, "layer.forward") == gathered(wide, "layer.forward") / 2);
  CHECK(gathered(wide, "layer.backward") == 2 * 4 * 2 * kSbh);
  CHECK(gathered(narrow, "layer.backward") == gathered(wide, "layer.backward") / 2);
  for (const char* routine : {"layer.forward", "layer.backward"})
    CHECK(narrow.traffic("tp", Collective::reduce_scatter, routine) ==
          wide.traffic("tp", Collective::reduce_scatter, routine));
}

TEST_CASE("current scaling reduces the maximum of every operand that is gathered") {
  ParallelConfig with = layout(2, true, Dtype::fp8);
  with.recipe.reduces_maxima = true;
  const TrainingStepUnderTest step{transformer(gpt()), with};
  const auto maxima = [&](const char* routine) {
    return step.traffic("tp", Collective::all_reduce, routine);
  };
  // Two layers. Inputs of both column-parallel GEMMs, gradients of both row-parallel results.
  CHECK(maxima("layer.forward") == Traffic{2 * 2, 2 * 2 * 4});
  CHECK(maxima("layer.backward") == Traffic{2 * 2, 2 * 2 * 4});
  with.sequence_parallel = false;
  const TrainingStepUnderTest whole{transformer(gpt()), with};
  for (const Message& message : whole.messages())
    CHECK(message.operation->name.find("reduce_maximum") == std::string::npos);
}

// TransformerEngine pytorch/module/linear.py: fp8_transpose of inputmat_total and of the gathered
// grad_output, before the GEMM of the weight's gradient.
TEST_CASE("what tensor parallelism gathers in 8 bits is transposed for weight gradients") {
  const auto transposed = [](const ParallelConfig& with) {
    const TrainingStepUnderTest step{transformer(gpt()), with};
    const Routine& backward = step.program().routines[step.routine("layer.backward")];
    std::vector<double> bytes;
    for (std::size_t i = 0; i < backward.operations.size(); ++i)
      if (backward.operations[i].name.ends_with(".transpose"))
        bytes.push_back(kernel_of(step.program(), backward, i).moved_bytes);
    return bytes;
  };
  // Inputs of both column-parallel GEMMs and gradients of both row-parallel results: s b h numbers
  // each on every rank, of which a byte is read and a byte written.
  ParallelConfig with = layout(2, true, Dtype::fp8);
  CHECK(transposed(with) == std::vector<double>(4, 2.0 * kSbh));
  with.recipe.weight_gradients = false;  // in 16 bits, of operands in 16 bits
  CHECK(transposed(with).empty());
  CHECK(transposed(layout(2, false, Dtype::fp8)).empty());
  // Blocks along rows and columns have scales of their own: both copies are cast.
  CHECK(transposed(layout(2, true, Dtype::fp8_block)).empty());
}

// TransformerEngine pytorch/quantization.py, reduce_and_update_fp8_tensors.
TEST_CASE("delayed scaling reduces the maxima of a chunk once per pass, over tp and dp") {
  ParallelConfig with = layout(2, true, Dtype::fp8);
  with.dp = 2;
  with.global_batch = 2 * 3 * kB;  // three microbatches
  const auto reduced = [&](const char* routine) {
    return TrainingStepUnderTest{transformer(gpt()), with}.traffic("dp", Collective::all_reduce,
                                                                   routine);
  };
  // Two layers of four GEMMs: maxima of input, weight and output, then those of two gradients.
  CHECK(reduced("scales.forward") == Traffic{3, 3 * 2 * 4 * 3 * 4});
  CHECK(reduced("scales.backward") == Traffic{3, 3 * 2 * 4 * 2 * 4});
  with.recipe.reduces_maxima = true;  // scales come from the numbers themselves
  CHECK(reduced("scales.forward") == Traffic{});
  with.recipe.reduces_maxima = false;
  with.precision = with.recipe.products = Dtype::fp8_block;
  CHECK(reduced("scales.forward") == Traffic{});
}

TEST_CASE("delayed scaling reduces maxima of every chunk of a stage") {
  ParallelConfig with = layout(1, false, Dtype::fp8);
  with.pp = with.vpp = with.dp = 2;
  with.schedule = PipelineOrder::interleaved;
  with.global_batch = 2 * 2 * kB;
  TransformerConfig model = gpt();
  model.layers = 4;
  const TrainingStepUnderTest step{transformer(model), with};
  // Two chunks of a layer and two microbatches on the first stage.
  CHECK(step.traffic("dp", Collective::all_reduce, "scales.forward") == Traffic{4, 4 * 4 * 3 * 4});
}

TEST_CASE("tokens are cast before they travel to experts only if the recipe says so") {
  const auto bytes = [](bool dispatched) {
    ParallelConfig with = layout(1, false, Dtype::fp8);
    with.dp = with.ep = 2;
    with.global_batch = 2 * kB;
    with.recipe.stores_dispatched = dispatched;
    const TrainingStepUnderTest step{transformer(mixture()), with};
    return std::pair{step.traffic("ep", Collective::all_to_all, "expert_layer.forward").bytes,
                     step.traffic("ep", Collective::all_to_all, "expert_layer.backward").bytes};
  };
  const auto [forward, backward] = bytes(false);
  const auto [narrow_forward, narrow_backward] = bytes(true);
  // Two exchanges each: what is dispatched loses half, what is combined nothing.
  CHECK(narrow_forward == forward * 3 / 4);
  CHECK(narrow_backward == backward * 3 / 4);
}

TEST_CASE("the first and last layers of a recipe run in 16 bits") {
  TransformerConfig shape = gpt();
  shape.layers = 4;
  ParallelConfig with = layout(1, false, Dtype::fp8);
  with.recipe.first_layers = 1;
  with.recipe.last_layers = 2;
  const TrainingStepUnderTest step{transformer(shape), with};
  std::vector<bool> narrow(6);
  for (const RoleOperation& operation : step.role().operations)
    if (operation.operation->kind == OperationKind::matmul &&
        operation.operation->math == Dtype::fp8)
      narrow.at(static_cast<std::size_t>(operation.call.position)) = true;
  CHECK(narrow == std::vector<bool>{false, false, true, false, false, false});
}

/// Numbers in the four GEMMs of a GPT layer: 4 h^2 of attention, 8 h^2 of the MLP.
constexpr std::int64_t kLinear = 12 * kH * kH;

TEST_CASE("casts of weights are held next to the weights, once or by rows and columns") {
  const auto buffers = [](int copies, Dtype precision) {
    ParallelConfig with = layout(2, true, precision);
    with.recipe.kept_weights = copies;
    const TrainingStepUnderTest step{transformer(gpt()), with};
    return resident_bytes(step.role())[Category::buffer].count();
  };
  // Two layers, each weight cut over two ranks; a byte and one per 32 numbers; 9/16 of a byte.
  const std::int64_t numbers = 2 * kLinear / 2;
  for (const int copies : {1, 2}) {
    CAPTURE(copies);
    CHECK(buffers(copies, Dtype::fp8) - buffers(0, Dtype::fp8) == copies * numbers);
    CHECK(buffers(copies, Dtype::fp8_block) - buffers(0, Dtype::fp8_block) ==
          copies * numbers * 33 / 32);
    CHECK(buffers(copies, Dtype::nvfp4) - buffers(0, Dtype::nvfp4) == copies * numbers * 9 / 16);
  }
}

/// A step of the GPT above on 2 of the GPUs of a cluster, with a recipe of configs/precisions.
[[nodiscard]] TrainingStepUnderTest on_cluster(const std::string& cluster,
                                               const std::string& recipe) {
  const std::string text = R"({"cluster": {"file": ")" + cluster + R"(", "ranks": 2},
    "model": {"name": "gpt", "layers": 2, "hidden": 128, "heads": 8, "ffn": 512, "seq": 64,
              "vocab": 128},
    "parallel": {"tp": 2, "sequence_parallel": true, "micro_batch": 2, "global_batch": 2,
                 "precision": ")" +
                           recipe + R"("}, "stack": "transformer-engine"})";
  const Scenario scenario =
      read_scenario(parse_json(text, "gpt.json"), "gpt", {}, LOCKSTEP_SOURCE_DIR "/configs");
  return {scenario.model, scenario.parallel};
}

// TransformerEngine pytorch/utils.py, is_non_tn_fp8_gemm_supported: compute capability 10.
TEST_CASE("on Blackwell casts with one scale per tensor have no copy by columns") {
  const auto transposes = [](const TrainingStepUnderTest& step) {
    int out = 0;
    for (const RoleOperation& each : step.role().operations)
      out += each.operation->name.ends_with(".transpose") ? 1 : 0;
    return out;
  };
  const auto buffers = [](const TrainingStepUnderTest& step) {
    return resident_bytes(step.role())[Category::buffer].count();
  };
  const TrainingStepUnderTest hopper = on_cluster("dgx-h100", "fp8-delayed");
  const TrainingStepUnderTest blackwell = on_cluster("dgx-b200", "fp8-delayed");
  // A byte of each weight of both layers, which two ranks share.
  CHECK(buffers(hopper) - buffers(blackwell) == 2 * kLinear / 2);
  CHECK(transposes(hopper) == 2 * 4);
  CHECK(transposes(blackwell) == 0);
  CHECK(hopper.program().casts.traffic - blackwell.program().casts.traffic == 1);
  // Scales of blocks run along what a GEMM adds up: rows and columns have scales of their own.
  CHECK(buffers(on_cluster("dgx-h100", "fp8-blockwise")) ==
        buffers(on_cluster("dgx-b200", "fp8-blockwise")));
  CHECK(on_cluster("dgx-b200", "fp8-blockwise").program().casts.traffic == 4.06);
}

TEST_CASE("with ZeRO-3 gathered weights are cast anew, and no cast is held") {
  const auto buffers = [](int copies, int zero) {
    ParallelConfig with = layout(1, false, Dtype::fp8);
    with.dp = 2;
    with.global_batch = 2 * kB;
    with.zero = zero;
    with.recipe.kept_weights = copies;
    const TrainingStepUnderTest step{transformer(gpt()), with};
    return resident_bytes(step.role())[Category::buffer].count();
  };
  CHECK(buffers(2, 2) - buffers(0, 2) == 2 * 2 * kLinear);  // two layers, a byte each
  CHECK(buffers(2, 3) == buffers(0, 3));
}

// Megatron-LM, fp8_param_gather: linear layers have weights in 8 (or 4) bits, which the distributed
// optimizer gathers; embeddings, norms, biases and the output layer stay in bf16.
TEST_CASE("weights of GEMMs below 16 bits are kept and gathered so, others in bf16") {
  const auto of = [](Dtype weights, Dtype precision, int zero) {
    ParallelConfig with = layout(1, false, precision);
    with.dp = 2;
    with.global_batch = 2 * kB;
    with.zero = zero;
    with.state.weights = weights;
    with.state.gradients = Dtype::fp32;
    return TrainingStepUnderTest{transformer(gpt()), with};
  };
  const auto held = [](const TrainingStepUnderTest& step) {
    return resident_bytes(step.role())[Category::weight].count();
  };
  const auto moved = [](const TrainingStepUnderTest& step) {
    return step.traffic("dp", Collective::all_gather).bytes;
  };
  const std::int64_t numbers = 2 * kLinear;
  for (const Dtype weights : {Dtype::fp8, Dtype::fp8_block, Dtype::nvfp4}) {
    CAPTURE(to_string(weights));
    const std::int64_t saved = 2 * numbers - storage(weights, numbers).count();
    const TrainingStepUnderTest wide = of(Dtype::bf16, weights, 1);
    const TrainingStepUnderTest narrow = of(weights, weights, 1);
    CHECK(held(wide) - held(narrow) == saved);
    CHECK(moved(wide) - moved(narrow) == saved);
    // Gathered for the forward and for the backward pass.
    CHECK(moved(of(Dtype::bf16, weights, 3)) - moved(of(weights, weights, 3)) == 2 * saved);
    const auto casts = [](const TrainingStepUnderTest& step) {
      int out = 0;
      for (const RoleOperation& each : step.role().operations)
        out += each.operation->name.ends_with(".cast_weight") ? 1 : 0;
      return out;
    };
    CHECK(casts(wide) > 0);
    CHECK(casts(narrow) == 0);  // their update writes them so
  }
  CHECK(of(Dtype::fp8, Dtype::fp8, 1).tensor("embedding.weight").dtype == Dtype::bf16);
}

// What checkpoints and estimates without a step count: on one GPU that keeps everything once.
TEST_CASE("bytes of all weights are those that one GPU keeps") {
  for (const Dtype weights :
       {Dtype::bf16, Dtype::fp32, Dtype::fp8, Dtype::fp8_block, Dtype::nvfp4}) {
    for (const TransformerConfig& config : {gpt(), mixture()}) {
      CAPTURE(to_string(weights));
      ParallelConfig with = layout(1, false, is_narrow(weights) ? weights : Dtype::bf16);
      with.state.weights = weights;
      const TrainingStepUnderTest step{transformer(config), with};
      CHECK(weight_bytes(transformer(config), with) ==
            resident_bytes(step.role())[Category::weight]);
    }
  }
}

TEST_CASE("weight gradients in 16 bits read what was cast") {
  ParallelConfig with = layout(1, false, Dtype::fp8);
  with.recipe.weight_gradients = false;
  const TrainingStepUnderTest step{transformer(gpt()), with};
  int seen = 0;
  for (const RoleOperation& operation : step.role().operations) {
    const Operation& of = *operation.operation;
    if (of.kind != OperationKind::matmul || !of.name.ends_with("weight_gradient")) continue;
    CHECK(of.math == Dtype::bf16);
    for (const Ref& read : of.reads)
      CHECK(step.program().tensors[read.tensor].dtype == Dtype::bf16);
    ++seen;
  }
  CHECK(seen == 2 * 6 + 1);
}

}  // namespace
}  // namespace lockstep::test
