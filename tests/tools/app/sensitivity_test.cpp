#include "tools/app/sensitivity/sensitivity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/sensitivity/find_value.hpp"
#include "tools/app/sensitivity/spreads.hpp"

namespace lockstep::app {

namespace {

TrainingStepRequest step_of(const std::string& name, std::vector<std::string> overrides = {}) {
  TrainingStepRequest out;
  out.file = scenario_file(name);
  out.overrides = std::move(overrides);
  return out;
}

SensitivityResult result_of(const TrainingStepRequest& step,
                            const std::vector<std::string>& figures = {}) {
  SensitivityRequest request{step};
  request.figures = figures;
  request.layout = false;
  request.shipped_spreads = false;
  return sensitivity(request);
}

double seconds_with(const TrainingStepRequest& step, const Figure& figure, double factor) {
  return step_with(step, figure, factor).throughput.step.seconds();
}

}  // namespace

// The requirement: predicted and simulated step time agree within 1e-6 inside the range.
TEST_CASE("at any value inside a range the step is what its slope predicts") {
  std::mt19937_64 random{24};
  std::size_t checked = 0;
  for (const char* name : {"pipeline-1f1b", "pipeline-interleaved", "host-average", "mlp-two-gpus",
                           "parameter-server"}) {
    CAPTURE(name);
    const TrainingStepRequest step = step_of(name);
    const SensitivityResult result = result_of(step);
    const double now = result.step.throughput.step.seconds();
    for (const FigureSensitivity& each : result.figures) {
      CAPTURE(each.figure.name);
      for (const RangeSide& side : {each.lower, each.upper}) {
        if (side.factor == 1) continue;
        std::uniform_real_distribution<double> exponent{0, std::log(side.factor)};
        const double factor =
            std::exp(side.factor > 1 ? exponent(random) : -std::abs(exponent(random)));
        CAPTURE(factor);
        const double variable = each.figure.is_rate() ? 1 / factor : factor;
        const double predicted = now + side.slope_s * (variable - 1);
        CHECK(std::abs(seconds_with(step, each.figure, factor) - predicted) <=
              kLinearTolerance * now);
        ++checked;
      }
    }
  }
  CHECK(checked > 70);
}

// Operations of one GPU follow each other, so that its step is the sum of its kernels' times, as
// the breakdown has them.
TEST_CASE("elasticities of kernel rates are the shares of their classes on one GPU") {
  const TrainingStepRequest step =
      step_of("mlp-two-gpus", {"parallel.tp=1", "parallel.dp=1", "cluster.ranks=1"});
  const SensitivityResult result = result_of(step);
  const Breakdown& rank = result.step.summary.busiest;
  double sum = 0;
  for (const FigureSensitivity& each : result.figures) {
    if (each.figure.of != Figure::Of::kernel_rate) continue;
    CAPTURE(each.figure.name);
    const Duration spent = rank.computation[static_cast<std::size_t>(each.figure.kernels)];
    const double share = spent.seconds() / result.step.throughput.step.seconds();
    CHECK(each.upper.elasticity == doctest::Approx(-share).epsilon(1e-4));
    sum += each.upper.elasticity;
  }
  CHECK(sum == doctest::Approx(-1).epsilon(1e-3));
}

// The oracle is the key of the scenario.
TEST_CASE("a link's figure with a factor is the cluster's key with that value") {
  const TrainingStepRequest step = step_of("llama7b-256");
  const auto figures = figures_of(step, run_step(step));
  const auto with_key = [](const std::string& override_text) {
    return run_step(step_of("llama7b-256", {override_text})).throughput.step;
  };
  const Figure& nic = find_figure(figures, "nic bandwidth");
  CHECK(nic.value == 25e9);
  CHECK(step_with(step, nic, 0.25).throughput.step ==
        with_key("cluster.fabric.link.bandwidth=50 Gb/s"));
  const Figure& nvlink = find_figure(figures, "nvlink latency");
  CHECK(nvlink.value == doctest::Approx(300e-9));
  CHECK(step_with(step, nvlink, 10).throughput.step ==
        with_key("cluster.topology.nvlink.latency=3 us"));
}

TEST_CASE("better than the knee brings less than a thousandth, worse costs more") {
  const TrainingStepRequest step = step_of("host-average");
  const SensitivityResult result = result_of(step, {"pcie bandwidth", "attention rate"});
  for (const FigureSensitivity& each : result.figures) {
    CAPTURE(each.figure.name);
    REQUIRE(each.knee);
    const double best = each.best.seconds();
    CHECK(seconds_with(step, each.figure, *each.knee) <= (1 + kKneeFraction) * best);
    CHECK(seconds_with(step, each.figure, *each.knee * 0.95) > (1 + kKneeFraction) * best);
  }
}

TEST_CASE("the value found is the least with which the step is as wanted") {
  FindValueRequest request{step_of("host-average"), "PCIe_bandwidth", {}};
  const auto wanted = [](const TrainingStepResult& result) {
    return result.throughput.step.seconds() <= 0.2;
  };
  request.wanted = wanted;
  const FoundValue found = find_value(request);
  REQUIRE(found.factor);
  CHECK(!found.any);
  CHECK(wanted(step_with(request.step, found.figure, *found.factor)));
  CHECK(!wanted(step_with(request.step, found.figure, *found.factor * 0.995)));
  request.wanted = [](const TrainingStepResult& result) {
    return result.throughput.step.seconds() <= 0.05;
  };
  CHECK(!find_value(request).factor);
}

TEST_CASE("a spread moves the step as the figure does") {
  SensitivityRequest request{step_of("pipeline-1f1b")};
  request.figures = {"matmul rate", "attention rate"};
  request.ranges = request.layout = false;
  request.spreads = {{"matmul rate", 0.2}};
  const SensitivityResult result = sensitivity(request);
  // Of attention the shipped one.
  REQUIRE(result.spreads.size() == 2);
  const SpreadEffect& first = result.spreads.front();
  const Figure& figure = result.figures[first.figure].figure;
  CHECK(figure.name == "matmul rate");
  CHECK(first.high.seconds() == seconds_with(request.step, figure, 0.8));
  CHECK(first.low.seconds() == seconds_with(request.step, figure, 1.2));
  CHECK(result.spreads.back().rows > 0);
}

TEST_CASE("the shipped spreads are of figures by device and precision") {
  const auto spreads = load_spreads(config_folder() + "/validation/spreads.json");
  const FigureSpread* fp8 = spread_of(spreads, "matmul rate", "hopper", "fp8");
  const FigureSpread* bf16 = spread_of(spreads, "matmul rate", "hopper", "bf16");
  REQUIRE(fp8 != nullptr);
  REQUIRE(bf16 != nullptr);
  CHECK(fp8->spread > bf16->spread);
  CHECK(spread_of(spreads, "matmul rate", "volta", "fp16") == nullptr);
  CHECK(spread_of(spreads, "nic bandwidth", "volta", "fp16") != nullptr);
}

TEST_CASE("schema and reader of spreads agree") {
  const std::string root{LOCKSTEP_SOURCE_DIR};
  const SchemaAgreement both{
      root + "/configs/schema/spreads.schema.json",
      [](std::string_view text) { (void)read_spreads(parse_json(text, "s.json")); }};
  const std::string shipped = text_of_file(root + "/configs/validation/spreads.json");
  CHECK(both.verdict(shipped) == "both accept");
  for (const Mutation& m :
       std::vector<Mutation>{{"no source", "/source", ""},
                             {"no spreads", "/spreads", "[]"},
                             {"no figure", "/spreads/0/figure", ""},
                             {"a spread of nothing", "/spreads/0/spread", "0"},
                             {"a spread of all", "/spreads/0/spread", "1"},
                             {"no rows", "/spreads/0/rows", "0"},
                             {"kernels as a text", "/spreads/0/kernels", "\"hopper\""},
                             {"another key", "/spreads/0/spreads", "1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(shipped, m)) == "both refuse");
  }
}

TEST_CASE("an unknown figure is refused with those that there are") {
  CHECK_THROWS_WITH_AS(
      (void)result_of(step_of("pipeline-1f1b"), {"matmul rat"}),
      "this step has no parameter named \"matmul rat\"; did you mean \"matmul rate\"?",
      RequestError);
}

}  // namespace lockstep::app
