#include "tests/strategies/step/numbers/numbers_harness.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/execute/run_program/first_difference.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"

namespace lockstep::test {

namespace {

constexpr double kSame = 1e-10;  // in float64, whatever the optimizer
constexpr int kSteps = 2;

}  // namespace

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
  out.norm = Normalization::rms;
  out.function = ActivationFunction::swiglu;
  out.positions = Positions::rotary;
  return out;
}

TransformerConfig experts(TransformerConfig of) {
  of.experts = ExpertsConfig{.experts = 4,
                             .top_k = 2,
                             .ffn = 8,
                             .shared = 1,
                             .shared_ffn = 8,
                             .dense_layers = 1,
                             .every = 1};
  return of;
}

ModelConfig mlp() {
  return {.name = "mlp",
          .shape = MlpConfig{.hidden = 12,
                             .ffn = 16,
                             .layers = 4,
                             .function = ActivationFunction::relu,
                             .bias = true},
          .source = {}};
}

ParallelConfig layout(int dp) {
  ParallelConfig out;
  out.dp = dp;
  out.micro_batch = 2;
  out.global_batch = 2 * dp * 2;
  out.state.optimizer = Optimizer::momentum;  // Adam hardly sees a gradient that is scaled
  return out;
}

ParallelConfig context(ContextKind kind, int cp, bool zigzag) {
  ParallelConfig out = layout();
  out.cp = cp;
  out.cp_kind = kind;
  out.zigzag = zigzag;
  out.ulysses = kind == ContextKind::both ? 2 : 0;
  return out;
}

ParallelConfig single_device(const ParallelConfig& of) {
  ParallelConfig out;
  out.micro_batch = of.micro_batch * of.dp;
  out.global_batch = of.global_batch;
  out.state = of.state;
  out.state.offload = false;
  return out;
}

std::string trouble(const ModelConfig& model, const ParallelConfig& parallel,
                    const ParallelConfig& alone_as, const ExecutionOptions& options) {
  const auto problems = layout_problems(model, parallel, parallel.ranks(), 8);
  if (!problems.empty()) return problems.front().message;
  try {
    const Program program = build_program(model, parallel, 8);
    const Program alone = build_program(model, alone_as, 8);
    ProgramExecution execution{program, options};
    ProgramExecution reference{alone};
    for (int step = 0; step < kSteps; ++step) {
      const double loss = execution.step();
      const double expected = reference.step();
      if (!(std::abs(loss - expected) < kSame)) {
        return fmt::format("step {}: loss {} where one device has {}", step, loss, expected);
      }
    }
    if (const auto wrong = first_difference(execution, reference, kSame)) return wrong->text();
    for (const WeightDifference& worst : {largest_difference(execution, reference),
                                          largest_state_difference(execution, reference)}) {
      if (!(worst.value < kSame) || !worst.missing.empty()) return worst.text();
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void check(const ModelConfig& model, const ParallelConfig& parallel, std::uint64_t order_seed) {
  ExecutionOptions options;
  options.order_seed = order_seed;
  CHECK(trouble(model, parallel, single_device(parallel), options) == "");
}

void check_software(const ModelConfig& model, const std::vector<ParallelConfig>& layouts) {
  for (ParallelConfig parallel : layouts) {
    parallel.precision = Dtype::fp8;
    parallel.recipe.inputs_once = parallel.recipe.weights_once = true;
    parallel.recipe.stores_operands = parallel.recipe.reduces_maxima = true;
    check(model, parallel);
  }
  for (ParallelConfig parallel : layouts) {
    parallel.state.optimizer = Optimizer::muon;
    check(model, parallel);
  }
  ParallelConfig served = layout(4);
  served.exchange = GradientExchange::parameter_server;
  served.servers = 2;
  check(model, served);
  ParallelConfig apart = layout(4);
  apart.overlap = {Overlap::dp_gradients};
  apart.update = UpdateStart::by_bucket;
  check(model, apart);
}

}  // namespace lockstep::test
