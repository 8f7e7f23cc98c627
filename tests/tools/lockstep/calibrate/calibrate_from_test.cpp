#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// `lockstep calibrate` as a user meets it.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

/// A line of 3 us + 2 us a hop + 10 us per MB on two and four A100, whole and at 8 KiB and 32 KiB.
const std::string kTables = R"([
  {"id": "two", "source": "a test", "collective": "all_reduce", "ranks": 2, "library": "nccl",
   "cluster": {"gpu": "a100-sxm4-80gb", "gpus": 2, "gpus_per_node": 8, "intra": "nvswitch"},
   "rows": [{"size_bytes": 8, "time_s": 1e-5}, {"size_bytes": 1024, "time_s": 1.0e-5},
            {"size_bytes": 4096, "time_s": 1.01e-5}, {"size_bytes": 16384, "time_s": 1.02e-5}]},
  {"id": "four", "source": "a test", "collective": "all_reduce", "ranks": 4, "library": "nccl",
   "cluster": {"gpu": "a100-sxm4-80gb", "gpus": 4, "gpus_per_node": 8, "intra": "nvswitch"},
   "rows": [{"size_bytes": 8, "time_s": 1.4e-5}, {"size_bytes": 1024, "time_s": 1.4e-5},
            {"size_bytes": 4096, "time_s": 1.41e-5}, {"size_bytes": 16384, "time_s": 1.42e-5}]}])";

}  // namespace

TEST_CASE("what is fitted meets its tables, is written, and validate goes by it") {
  const TemporaryFile tables(kTables);
  const TemporaryFile out("");
  const Json result =
      json_of("lockstep calibrate --from " + tables.path() + " --output " + out.path());
  CHECK(result["schema"] == "lockstep.calibrate/2");
  REQUIRE(result["rows"].size() == 1);
  CHECK(result["rows"][0]["what"] == "collective");
  CHECK(result["rows"][0]["count"] == 8);
  CHECK(result["rows"][0]["mean_abs_error_fraction"].get<double>() < 0.02);
  // Two ranks are two hops, four are six: 10 us = launch + 2 hops, 14 us = launch + 6 hops.
  const Json written = Json::parse(text_of(out.path()));
  CHECK(written["collectives"][0]["nccl"] == "2.30");
  CHECK(written["collectives"][0]["architecture"] == "ampere");
  for (const Json& each : result["residuals"]) CHECK(each["part"] == "fit");

  const Json before = json_of("lockstep validate " + tables.path());
  const Json after = json_of("lockstep validate " + tables.path() + " --calibration " + out.path());
  for (std::size_t i = 0; i < after["rows"].size(); ++i) {
    CHECK(std::abs(after["rows"][i]["error_fraction"].get<double>()) < 0.02);
    CHECK(after["rows"][i]["simulated"] != before["rows"][i]["simulated"]);
  }
}

TEST_CASE("half of the rows are kept to check with") {
  const TemporaryFile tables(kTables);
  const Json result = json_of("lockstep calibrate --split --from " + tables.path());
  bool checked = false;
  for (const Json& each : result["residuals"])
    if (each["part"] == "check" && each["group"] == "four") checked = true;
  CHECK(checked);
}

TEST_CASE("run goes by a calibration") {
  const TemporaryFile slow(R"({"name": "slow", "summary": "a test",
    "stacks": {"fsdp2": {"host_time": "1 ms", "source": "a test"}}})");
  const std::string scenario = "configs/scenarios/mlp-two-gpus.json";
  const Json plain = json_of("lockstep run " + scenario);
  const Json with = json_of("lockstep run " + scenario + " --calibration " + slow.path());
  CHECK(with["step_time_s"].get<double>() > plain["step_time_s"].get<double>());
  const Json validated = json_of("lockstep run pipeline-1f1b")["prediction"];
  CHECK(validated["step_time_low_s"].get<double>() < validated["step_time_high_s"].get<double>());
}

TEST_CASE("what is wrong with a request is one line") {
  const CommandResult none = run_command("lockstep calibrate");
  CHECK(none.status == 2);
  CHECK(none.err.find("--from") != std::string::npos);
  const TemporaryFile wrong(R"({"name": "x", "summary": "y", "stack": {}})");
  const CommandResult ran =
      run_command("lockstep run configs/scenarios/mlp-two-gpus.json --calibration " + wrong.path());
  CHECK(ran.status == 2);
  CHECK(ran.err.find("did you mean \"stacks\"?") != std::string::npos);
}

}  // namespace lockstep
