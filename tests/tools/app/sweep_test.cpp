#include "tools/app/sweep/sweep.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/config/json/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/scenario_file.hpp"

namespace lockstep::app {

namespace {

SweepRequest request_of(std::vector<std::string> vary) {
  SweepRequest out;
  out.space.scenario = "llama7b-256";
  out.space.vary = std::move(vary);
  return out;
}

std::string error_of(const std::vector<std::string>& vary) {
  try {
    (void)sweep(request_of(vary));
  } catch (const Error& error) {  // of a request, or of the scenario of the first point
    return error.what();
  }
  return {};
}

}  // namespace

// The oracle is run_step() of the same values, one at a time.
TEST_CASE("a point of a sweep takes what a run with its values takes") {
  SweepRequest request = request_of({"cluster.nodes=16,32", "tp=4,8", "overlap=none,dp_gradients"});
  request.space.overrides = {"parallel.global_batch=512"};
  request.threads = 3;
  std::vector<SweepPoint> points;
  request.on_point = [&](const SweepPoint& point) { points.push_back(point); };
  const SweepResult result = sweep(request);
  REQUIRE(points.size() == 8);
  CHECK(result.simulated + result.misfits + result.impossible == 8);
  CHECK(result.dp_follows);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CAPTURE(points[i].step.name);
    CHECK(points[i].index == i);
    TrainingStepRequest run;
    run.file = scenario_file("llama7b-256");
    const std::vector<std::string>& values = points[i].values;
    const int ranks = 8 * std::stoi(values[0]);
    run.overrides = {
        "parallel.global_batch=512", "cluster.nodes=" + values[0], "parallel.tp=" + values[1],
        values[2] == "none" ? "parallel.overlap=[]" : "parallel.overlap=[\"dp_gradients\"]"};
    const ParallelConfig parallel = points[i].step.result->scenario.parallel;
    run.overrides.push_back("parallel.dp=" +
                            std::to_string(ranks / (parallel.tp * parallel.pp * parallel.cp)));
    CHECK(points[i].step.result->summary.step == run_step(run).summary.step);
  }
}

TEST_CASE("points that are impossible are points with a problem, and none at all is an error") {
  SweepRequest request = request_of({"parallel.tp=3,4"});
  std::vector<std::string> problems;
  request.on_point = [&](const SweepPoint& point) { problems.push_back(point.step.problem); };
  CHECK(sweep(request).impossible == 1);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].find("does not divide") != std::string::npos);
  CHECK(problems[1].empty());
  CHECK(error_of({"tp=3,5"}).find("does not divide") != std::string::npos);
  CHECK_THROWS_AS((void)sweep(request_of({"parallel.tq=1,2"})), ConfigError);
}

// Weak scaling: the batch grows with the nodes.
TEST_CASE("keys that go together are one axis") {
  SweepRequest request = request_of({"nodes:global_batch=16,32:256,512", "overlap=none,all"});
  std::vector<std::vector<std::string>> values;
  request.on_point = [&](const SweepPoint& point) {
    values.push_back(point.values);
    const ParallelConfig& parallel = point.step.result->scenario.parallel;
    CHECK(std::to_string(parallel.ranks() / 8) == point.values[0]);
    CHECK(std::to_string(parallel.global_batch) == point.values[1]);
  };
  const SweepResult result = sweep(request);
  CHECK(result.axes ==
        std::vector<std::string>{"cluster.nodes", "parallel.global_batch", "parallel.overlap"});
  CHECK(values == std::vector<std::vector<std::string>>{{"16", "256", "none"},
                                                        {"16", "256", "all"},
                                                        {"32", "512", "none"},
                                                        {"32", "512", "all"}});
  CHECK(error_of({"nodes:global_batch=8,16"}).find("values for 1") != std::string::npos);
  CHECK(error_of({"nodes:global_batch=8,16:64"}).find("has 2 values") != std::string::npos);
  CHECK(error_of({"nodes:global_batch=8,16:64,128", "cluster.nodes=1,2"}).find("varied twice") !=
        std::string::npos);
}

TEST_CASE("axes that contradict each other or are too many are errors") {
  CHECK(error_of({}).find("expected an axis") != std::string::npos);
  CHECK(error_of({"tp=1,1"}).find("twice") != std::string::npos);
  CHECK(error_of({"cluster.nodes=1,1"}).find("twice") != std::string::npos);
  CHECK(error_of({"tp=1,2", "parallel.tp=4"}).find("varied twice") != std::string::npos);
  CHECK(error_of({"cluster.nodes=divisors"}).find("divisors") != std::string::npos);
  CHECK(error_of({"cluster.nodes=1..2000", "micro_batch=1..2000"}).find("lockstep plan") !=
        std::string::npos);
}

TEST_CASE("a sweep that is stopped has the points so far") {
  SweepRequest request = request_of({"tp=1,2,4,8", "micro_batch=1,2"});
  request.threads = 1;
  std::size_t asked = 0;
  request.stop = [&] { return asked++ == 0; };
  const SweepResult result = sweep(request);
  CHECK_FALSE(result.complete);
  CHECK(result.points == 8);
  CHECK(result.simulated == 0);
}

}  // namespace lockstep::app
