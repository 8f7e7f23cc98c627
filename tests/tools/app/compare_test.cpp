#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "sim/config/json/json_values.hpp"
#include "tools/app/compare/compare_steps.hpp"
#include "tools/app/inputs/scenario_file.hpp"

namespace lockstep::app {

namespace {

CompareRequest request_of(std::vector<std::string> a, std::vector<std::string> b,
                          const std::string& name = "llama7b-256") {
  CompareRequest out;
  out.a.file = out.b.file = scenario_file(name);
  out.a.overrides = std::move(a);
  out.b.overrides = std::move(b);
  return out;
}

template <class Rows>
std::int64_t difference_ps(const Rows& rows) {
  std::int64_t out = 0;
  for (const auto& row : rows) out += (row.b - row.a).ps();
  return out;
}

double sum(const std::vector<ChangeEffect>& effects) {
  double out = 0;
  for (const ChangeEffect& each : effects) out += each.seconds;
  return out;
}

/// The requirement: no residual of a nanosecond.
void check_sums(const CompareResult& result) {
  const std::int64_t difference = (result.step_b() - result.step_a()).ps();
  CHECK(difference_ps(result.uses) == difference);
  if (!result.places.empty()) CHECK(difference_ps(result.places) == difference);
  if (!result.effects.empty())
    CHECK(std::abs(sum(result.effects) - static_cast<double>(difference) * 1e-12) < 1e-9);
}

Duration step_of(const std::vector<std::string>& overrides) {
  TrainingStepRequest request;
  request.file = scenario_file("llama7b-256");
  request.overrides = overrides;
  request.step_only = true;
  return run_step(request).throughput.step;
}

}  // namespace

// Two changes: the Shapley value is the mean of the two orders (Shapley 1953), worked out here from
// four runs.
TEST_CASE("two changes share a difference as the mean over both orders says") {
  const std::vector<std::string> base{"parallel.global_batch=512"};
  const std::string first = "parallel.overlap=[]";
  const std::string second = "parallel.recompute=full";
  const CompareResult result = compare_steps(request_of(base, {base.front(), first, second}));
  check_sums(result);
  REQUIRE(result.attribution == Attribution::shapley);
  REQUIRE(result.effects.size() == 2);
  CHECK(result.simulations == 2);
  const double none = step_of(base).seconds();
  const double one = step_of({base.front(), first}).seconds();
  const double other = step_of({base.front(), second}).seconds();
  const double both = step_of({base.front(), first, second}).seconds();
  for (const ChangeEffect& each : result.effects) {
    const bool is_first = each.change.names() == std::vector<std::string>{"parallel.overlap"};
    const double alone = is_first ? one - none : other - none;
    const double last = is_first ? both - other : both - one;
    CHECK(each.seconds == doctest::Approx((alone + last) / 2).epsilon(1e-9));
    CHECK(each.alone_s == doctest::Approx(alone).epsilon(1e-9));
  }
}

TEST_CASE("degrees are one change, so that scenarios between fill the cluster") {
  const CompareResult result = compare_steps(request_of(
      {"parallel.global_batch=512"},
      {"parallel.global_batch=512", "parallel.tp=4", "parallel.dp=16", "parallel.micro_batch=2"}));
  check_sums(result);
  CHECK(result.attribution == Attribution::shapley);
  CHECK(result.effects.size() == 2);
  for (const ChangeEffect& each : result.effects)
    if (each.change.keys.size() > 1)
      CHECK(each.change.names() == std::vector<std::string>{"parallel.dp", "parallel.tp"});
}

TEST_CASE("pipelines of other schedules differ in their bubble") {
  CompareRequest request = request_of({}, {}, "pipeline-gpipe");
  request.b.file = scenario_file("pipeline-1f1b");
  const CompareResult result = compare_steps(request);
  check_sums(result);
}

TEST_CASE("more changes than are asked for are attributed in sequence") {
  CompareRequest request =
      request_of({"parallel.global_batch=512"},
                 {"parallel.global_batch=512", "parallel.overlap=[]", "parallel.recompute=full"});
  request.shapley_changes = 1;
  const CompareResult result = compare_steps(request);
  check_sums(result);
  CHECK(result.attribution == Attribution::sequence);
  CHECK(result.simulations == 1);
  request.shapley_changes = 0;
  CHECK(compare_steps(request).attribution == Attribution::none);
}

TEST_CASE("equal steps have no changes") {
  const CompareResult result = compare_steps(request_of({}, {}, "mlp-two-gpus"));
  check_sums(result);
  CHECK(result.step_a() == result.step_b());
  CHECK(result.effects.empty());
  CHECK(result.attribution == Attribution::none);
}

TEST_CASE("changes of a scenario lead from one to the other, key by key") {
  const JsonValue a = json_object({{"name", json_of("one")},
                                   {"stack", json_of("x")},
                                   {"parallel", json_object({{"tp", json_of(1)}})}});
  const JsonValue b =
      json_object({{"name", json_of("two")},
                   {"parallel", json_object({{"tp", json_of(2)}, {"zero", json_of(1)}})}});
  const auto changes = changes_between(a, b);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].names() == std::vector<std::string>{"stack"});
  CHECK(!changes[0].keys.front().b);
  CHECK(changes[1].names() == std::vector<std::string>{"parallel.tp"});
  CHECK(changes[2].names() == std::vector<std::string>{"parallel.zero"});
  CHECK(json_text(with_changes(a, changes, 0)) == json_text(a));
  CHECK(json_text(with_changes(a, changes, 7)) ==
        R"({"name": "one", "parallel": {"tp": 2, "zero": 1}})");
}

}  // namespace lockstep::app
