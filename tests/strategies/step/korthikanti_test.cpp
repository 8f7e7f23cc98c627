#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/trace/memory/memory.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// The figures of Korthikanti et al., arXiv 2205.05198, as planners repeat them: GiB per GPU of
/// parameters with their optimizer, and of activations without recomputation and with sequence
/// parallelism and selective recomputation, on the first stage.

namespace lockstep::test {
namespace {

struct Figures {
  const char* name;
  std::int64_t hidden, layers, heads;
  int tp, pp;
  std::int64_t micro_batch;
  int interleave;
  // In GiB, exactly.
  double states, activations_none, activations_selective;
};

constexpr std::int64_t kS = 2048;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// Table 3 there has the shapes.
constexpr std::array<Figures, 4> kFigures{{
    {"22B", 6144, 48, 64, 8, 1, 4, 1, 45.5625, 59.25, 9.5625},
    {"175B", 12288, 96, 96, 8, 8, 1, 3, 45.5625, 66.84375, 12.3515625},
    {"530B", 20480, 105, 128, 8, 35, 1, 3, 31.640625, 114.0234375, 23.076171875},
    {"1T", 25600, 128, 160, 8, 64, 1, 1, 32.958984375, 131.25, 26.5625},
}};

[[nodiscard]] ModelConfig model(const Figures& of) {
  TransformerConfig shape;
  shape.layers = of.layers;
  shape.hidden = of.hidden;
  shape.heads = of.heads;
  shape.sequence = kS;
  shape.vocabulary = 51200;
  shape.attention = AttentionKind::unfused;
  shape.dropout = 0.1;
  return transformer(shape);
}

[[nodiscard]] ParallelConfig layout(const Figures& of, bool selective) {
  ParallelConfig out;
  out.tp = of.tp;
  out.pp = of.pp;
  out.vpp = of.interleave;
  if (of.pp > 1) {
    out.schedule = of.interleave > 1 ? PipelineOrder::interleaved : PipelineOrder::one_f_one_b;
  }
  out.micro_batch = of.micro_batch;
  out.global_batch = of.micro_batch * of.pp * (of.interleave > 1 ? 2 : 1);  // fills the pipeline
  out.sequence_parallel = selective;
  out.recompute = selective ? Recompute::selective : Recompute::none;
  out.state.gradients = Dtype::fp32;  // 18 bytes
  return out;
}

/// Layers whose forward pass is done and whose backward pass is not, at most.
[[nodiscard]] std::int64_t layers_in_flight(const TrainingStepUnderTest& step) {
  const RoutineId forward = step.routine("layer.forward");
  const RoutineId backward = step.routine("layer.backward");
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const Call& call : step.program().roles[0].calls) {
    if (call.routine == forward) most = std::max(most, ++held);
    if (call.routine == backward) --held;
  }
  return most;
}

[[nodiscard]] std::int64_t activations_of_a_layer(const TrainingStepUnderTest& step) {
  LiveQuery query;
  query.forward = {step.routine("layer.forward")};
  query.backward = {step.routine("layer.backward")};
  query.position = 1;
  return total_bytes(live_between(step.role(), query)).count();
}

/// Bytes of the four GEMMs' weights of all layers of the first stage, with gradients and states:
/// 12 L h^2 parameters alone, as the figures have it.
[[nodiscard]] std::int64_t states_of_gemms(const TrainingStepUnderTest& step) {
  static const std::set<std::string> kGemms{"attention.q.weight", "attention.k.weight",
                                            "attention.v.weight", "attention.out.weight",
                                            "mlp.up.weight",      "mlp.down.weight"};
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < step.role().instances.size(); ++i) {
    const Tensor& tensor = step.role().tensor(i);
    const std::string of = tensor.name.substr(0, tensor.name.find(".weight") + 7);
    if (tensor.resident && kGemms.contains(of)) sum += local_bytes(step.mesh(), tensor).count();
  }
  return sum;
}

}  // namespace

TEST_CASE("parameters and optimizer: 18 bytes of 12 L h^2 / (t p)") {
  for (const Figures& of : kFigures) {
    CAPTURE(of.name);
    const TrainingStepUnderTest step{model(of), layout(of, false)};
    const double closed_form = 18.0 * 12.0 *
                               static_cast<double>(of.layers * of.hidden * of.hidden) /
                               static_cast<double>(of.tp * of.pp);
    CHECK(closed_form == of.states * kGiB);
    CHECK(static_cast<double>(states_of_gemms(step)) == closed_form);
  }
}

TEST_CASE("the first stage holds L (1 + (p-1)/(p v)) layers' activations, L where v is 1") {
  for (const Figures& of : kFigures) {
    CAPTURE(of.name);
    const TrainingStepUnderTest step{model(of), layout(of, false)};
    // In integers: L + L (p-1) / (p v), of which L / (p v) is a chunk.
    const std::int64_t chunk = of.layers / (of.pp * of.interleave);
    const std::int64_t more = of.interleave > 1 ? (of.pp - 1) * chunk : 0;
    CHECK(layers_in_flight(step) == of.layers + more);
  }
}

TEST_CASE("activations of the first stage without recomputation and with the selective one") {
  // The closed forms of a layer (memory_oracles_test.cpp) times the layers in flight. The program
  // has 16 bytes a token and layer more, norms' statistics in fp32, which sequence parallelism
  // cuts.
  for (const Figures& of : kFigures) {
    for (const bool selective : {false, true}) {
      CAPTURE(of.name);
      CAPTURE(selective);
      const TrainingStepUnderTest step{model(of), layout(of, selective)};
      const std::int64_t tokens = kS * of.micro_batch;
      const std::int64_t statistics = 16 * tokens / (selective ? of.tp : 1);
      const std::int64_t ours = activations_of_a_layer(step) - statistics;
      const double figure = selective ? of.activations_selective : of.activations_none;
      CHECK(static_cast<double>(ours * layers_in_flight(step)) == figure * kGiB);
    }
  }
}

}  // namespace lockstep::test
