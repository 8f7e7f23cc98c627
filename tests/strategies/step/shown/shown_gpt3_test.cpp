#include <doctest/doctest.h>

#include "strategies/models/count/count.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// GPT-3 on one GPU: how long, and how large. N parameters, D tokens.
namespace lockstep::test {
namespace {

constexpr double kYear = 365.25 * 86400;
constexpr double kSustained = 28e12;  // FLOP/s, of the Lambda estimate
constexpr double kTokens = 300e9;

/// Brown et al., arXiv 2005.14165, table 2.1 (layers, hidden size, sequence) and GPT-2's
/// vocabulary.
constexpr double kL = 96;
constexpr double kH = 12288;
constexpr double kS = 2048;
constexpr double kV = 50257;

[[nodiscard]] double parameters(const Scenario& scenario) {
  return static_cast<double>(count_parameters(scenario.model).total());
}

}  // namespace

TEST_CASE("gpt3-v100: 355 years by 6 N D at a sustained 28 TFLOP/s") {
  const Scenario scenario = shipped_scenario("gpt3-v100");
  CHECK(scenario.sustained->per_second() == kSustained);
  CHECK(scenario.samples == kTokens);
  // Brown et al., table D.1: 3.14e23 FLOPs, from 174.6e9 parameters.
  const double flops = six_n_d(parameters(scenario), kTokens);
  CHECK(within(flops, 3.14e23, 0.002));
  // 3.14e23 / 28e12 = 1.1214e10 s = 355.4 years.
  CHECK(within(flops / kSustained / kYear, 355, 0.003));
}

TEST_CASE(
    "gpt3-v100: about 360 years with attention and vocabulary, and that is what it simulates") {
  // Forward and backward, a token: three times the GEMMs of a layer, 24 h^2, and of causal
  // attention, 2 s h (half of 4 s h); and 6 h V for the logits.
  const double per_token = kL * (72 * kH * kH + 6 * kS * kH) + 6 * kH * kV;
  const double years = per_token * kTokens / kSustained / kYear;
  CHECK(within(years, 360.5, 0.001));

  const Shown shown("gpt3-v100");
  CHECK(within(count_flops(shown.scenario().model).training_per_token(), per_token, 1e-3));
  const double steps = kTokens / (static_cast<double>(shown.scenario().parallel.global_batch) * kS);
  const double simulated = steps * shown.step_s() / kYear;
  CHECK(simulated == doctest::Approx(shown.training_s() / kYear));
  // Fused attention computes its scores once more on the way back: an eighth to a sixth more of
  // attention's 1.4 %, nothing else is done again.
  CHECK(simulated > years);
  CHECK(within(simulated, years, 0.004));
}

TEST_CASE("gpt3-a100-memory: 2 + 2 + 12 bytes a parameter, by part, 33 times what an A100 has") {
  const Shown shown("gpt3-a100-memory");
  const double n = parameters(shown.scenario());
  const CategoryBytes resident = shown.resident();
  // fp16 weights and gradients; Adam's master copy, momentum and variance in fp32. Padding aside,
  // each parameter is there once.
  CHECK(within(static_cast<double>(resident[Category::weight].count()), 2 * n, 1e-4));
  CHECK(within(static_cast<double>(resident[Category::gradient].count()), 2 * n, 1e-4));
  CHECK(within(static_cast<double>(resident[Category::optimizer_state].count()), 12 * n, 1e-4));
  const double states = static_cast<double>(model_state_bytes(resident).count());
  CHECK(within(states, 2.794e12, 0.001));  // 16 * 174.6e9

  // 80 GiB: the weights alone, 349 GB, would fill four and a bit; all states 32.5 of them.
  const auto gpu = static_cast<double>(shown.gpu_bytes());
  CHECK(gpu == 80.0 * 1024 * 1024 * 1024);
  CHECK(static_cast<double>(resident[Category::weight].count()) / gpu > 4);
  CHECK(states / gpu > 32);
  CHECK(states / gpu < 33);
  // Too much by the states less the GPU, and by the activations on top of them.
  const auto excess = static_cast<double>(shown.peak_bytes()) - gpu;
  CHECK(excess > states - gpu);
  CHECK(excess < (states - gpu) * 1.05);
}

}  // namespace lockstep::test
