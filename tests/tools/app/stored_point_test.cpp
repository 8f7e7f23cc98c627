#include "tools/app/point/stored_point.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/config/json/json_values.hpp"
#include "tests/tools/new_file.hpp"
#include "tools/app/compare/compare_steps.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/plan/store/query.hpp"
#include "tools/app/plan/store/stored_plan.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/sweep/sweep_store.hpp"

namespace lockstep::app {

namespace {

/// Sixteen GPUs without a scenario: the base is in the store alone.
PlanRequest small_plan() {
  PlanRequest out;
  out.space.model = "llama3-8b";
  out.space.cluster = "dgx-h100";
  out.space.nodes = 2;
  out.space.global_batch = 32;
  out.space.vary = {"tp=1,4,8", "pp=1,2", "overlap=none,all"};
  out.space.fix = {"cp=1", "micro_batch=1", "recompute=none", "order=tp-cp-dp-pp"};
  out.top = 3;
  out.threads = 1;
  return out;
}

TrainingStepRequest request_of(const std::string& store, const std::string& point) {
  StoredPoint found = stored_point({store, point});
  TrainingStepRequest out;
  out.file = store + ":" + point;
  out.document = std::move(found.scenario);
  out.calibration = found.calibration;
  out.step_only = true;
  out.ignore_memory = true;
  return out;
}

/// A copy of a shipped scenario that can go away.
std::string scenario_copy(const NewFile& file) {
  const std::string path = file.path() + ".json";
  std::filesystem::copy_file(scenario_file("pipeline-1f1b"), path);
  return path;
}

void sweep_into(const std::string& file, SweepRequest request) {
  const SweepGrid grid{request.space};
  SweepStore store{{file, false, "1", "asked", R"({"network": "fluid"})"}, grid};
  request.threads = 1;
  request.on_point = [&](const SweepPoint& each) { store.add(each); };
  (void)sweep(request);
  store.finish();
}

std::int64_t integer(const DatabaseRows& rows, std::size_t row, std::size_t column) {
  return std::get<std::int64_t>(rows.rows.at(row).at(column));
}

}  // namespace

// The store's step times are those of the search, which builds each layout from the digits of its
// point; run_step() reads a scenario. They agree to the picosecond.
TEST_CASE("every simulated point of a plan's store is the scenario that was simulated") {
  const NewFile store;
  (void)plan_into_store({small_plan(), store.path(), false, "1"});
  const DatabaseRows rows =
      query_store(store.path(), "SELECT \"index\", step_time_ps, tp, pp FROM simulated");
  REQUIRE(rows.rows.size() > 3);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string point = std::to_string(integer(rows, i, 0));
    const TrainingStepResult result = run_step(request_of(store.path(), point));
    CHECK(result.throughput.step.ps() == integer(rows, i, 1));
    CHECK(result.scenario.parallel.tp == integer(rows, i, 2));
    CHECK(result.scenario.parallel.pp == integer(rows, i, 3));
    CHECK(stored_point({store.path(), point}).step == result.throughput.step);
  }
}

TEST_CASE("a rank of a plan's result is the point that the table `best` names") {
  const NewFile store;
  (void)plan_into_store({small_plan(), store.path(), false, "1"});
  const DatabaseRows best = query_store(store.path(), "SELECT \"index\" FROM best ORDER BY rank");
  REQUIRE(best.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string index = std::to_string(integer(best, i, 0));
    const JsonDocument by_rank =
        stored_point({store.path(), "rank" + std::to_string(i + 1)}).scenario;
    CHECK(json_text(by_rank.root) == json_text(stored_point({store.path(), index}).scenario.root));
  }
}

// The requirement of `compare` for scenarios: no residual of a nanosecond.
TEST_CASE("a comparison of two points adds up to the difference of the stored step times") {
  const NewFile store;
  (void)plan_into_store({small_plan(), store.path(), false, "1"});
  CompareRequest request{request_of(store.path(), "rank1"), request_of(store.path(), "rank3")};
  const CompareResult result = compare_steps(request);
  const DatabaseRows best = query_store(
      store.path(), "SELECT step_time_ps FROM best_layouts WHERE rank IN (1, 3) ORDER BY rank");
  const std::int64_t difference = integer(best, 1, 0) - integer(best, 0, 0);
  REQUIRE(difference > 0);
  std::int64_t uses = 0;
  for (const UseDifference& each : result.uses) uses += (each.b - each.a).ps();
  CHECK(uses == difference);
  double effects = 0;
  for (const ChangeEffect& each : result.effects) effects += each.seconds;
  REQUIRE(!result.effects.empty());
  CHECK(std::abs(effects - static_cast<double>(difference) * 1e-12) < 1e-9);
}

TEST_CASE("points of a sweep are the scenarios that were simulated, without the scenario's file") {
  const NewFile store;
  const NewFile copy;
  SweepRequest request;
  request.space.scenario = scenario_copy(copy);
  request.space.fix = {"micro_batch=1"};
  request.space.vary = {"pp:tp=2,4:2,1", "overlap=none,all"};
  sweep_into(store.path(), request);
  std::filesystem::remove(request.space.scenario);
  const DatabaseRows rows =
      query_store(store.path(), "SELECT \"index\", step_time_ps FROM simulated");
  REQUIRE(rows.rows.size() == 4);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string point = std::to_string(integer(rows, i, 0));
    if (!std::holds_alternative<std::int64_t>(rows.rows[i][1])) continue;
    const TrainingStepResult result = run_step(request_of(store.path(), point));
    CHECK(result.throughput.step.ps() == integer(rows, i, 1));
    CHECK(result.scenario.parallel.tp == (i < 2 ? 2 : 1));
    CHECK(stored_point({store.path(), point}).run == R"({"network": "fluid"})");
  }
}

TEST_CASE("a point that a store lacks, or that is no layout, is refused with what there is") {
  const NewFile store;
  (void)plan_into_store({small_plan(), store.path(), false, "1"});
  const auto check = [&](const std::string& point, const char* why) {
    CHECK_THROWS_WITH_AS((void)stored_point({store.path(), point}), doctest::Contains(why),
                         RequestError);
  };
  check("", "expected one of its points");
  check("rank4", "ranks 1 to 3");
  check("rank0", "ranks 1 to 3");
  check("x", "expected a point's number");
  check("-1", "expected a point's number");
  check("999999999", "the space has points 0 to");
  // tp=8 with pp=2 on 16 GPUs: one replica, so ZeRO has nothing to divide.
  CHECK_THROWS_AS((void)stored_point({"/missing.db", "1"}), RequestError);
}

TEST_CASE("a store of an older version is refused with what to do") {
  const NewFile store;
  SweepRequest request;
  request.space.scenario = "pipeline-1f1b";
  request.space.vary = {"overlap=none,all"};
  sweep_into(store.path(), request);
  {
    Database database{store.path(), Database::Mode::write, ""};
    database.run("UPDATE meta SET value = '1' WHERE key = 'schema_version'");
  }
  CHECK_THROWS_WITH_AS((void)stored_point({store.path(), "0"}),
                       doctest::Contains("of version 1; this program reads version 3: write it "
                                         "again"),
                       RequestError);
}

TEST_CASE("a name is that of a point if its file is a store, or is missing and ends in .db") {
  const NewFile store;
  (void)Database{store.path(), Database::Mode::create, ""}.query("PRAGMA user_version=1");
  const auto found = point_name("missing.db:rank1");
  REQUIRE(found);
  CHECK(found->store == "missing.db");
  CHECK(found->point == "rank1");
  CHECK(point_name("missing.db"));
  CHECK(!point_name("llama3-70b"));
  CHECK(!point_name("missing.json:3"));
  CHECK(!point_name(scenario_file("pipeline-1f1b")));
}

}  // namespace lockstep::app
