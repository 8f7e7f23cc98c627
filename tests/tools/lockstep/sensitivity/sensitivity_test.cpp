#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kBinary{LOCKSTEP_BINARY};

CommandResult ask(const std::string& arguments) {
  return run_command(kBinary + " sensitivity " + arguments + " 2>&1");
}

}  // namespace

TEST_CASE("sensitivity prints figures, layout and spreads, in JSON with one row for each") {
  const std::string arguments = "pipeline-1f1b --figure 'matmul rate' --figure nvlink-bandwidth";
  const std::string table = output_of(kBinary + " sensitivity " + arguments);
  for (const char* part : {"matmul rate", "nvlink bandwidth", "memory size", "holds from", "knee",
                           "--set parallel.micro_batch=2", "dominates", "####"}) {
    CAPTURE(part);
    CHECK(contains(table, part));
  }
  const Json json =
      Json::parse(output_of(kBinary + " sensitivity " + arguments + " --format json"));
  CHECK(json["schema"] == "lockstep.sensitivity/1");
  std::size_t figures = 0;
  for (const Json& row : json["rows"]) {
    if (row["part"] != "figure" || row["name"] == "memory size") continue;
    ++figures;
    CHECK(row["elasticity"].get<double>() < 0);
    CHECK(row["range_from"].get<double>() <= row["value"].get<double>());
    CHECK(row["range_to"].get<double>() >= row["value"].get<double>());
  }
  CHECK(figures == 2);
}

TEST_CASE("the value found keeps the condition in a run of its own") {
  const Json json =
      Json::parse(output_of(
          kBinary + " sensitivity host-average --find 'pcie bandwidth' --for 'step_time <= 200 ms' "
                    "--format json"));
  const Json row = json["rows"][0];
  const auto run = [](double bandwidth) {
    const std::string set =
        "--set 'cluster.topology.pcie.bandwidth=" + std::to_string(bandwidth) + " B/s'";
    return run_command(kBinary + " run host-average " + set +
                       " --suggest 0 --assert 'step_time_s <= 0.2' >/dev/null 2>&1")
        .status;
  };
  const double found = row["found"].get<double>();
  CHECK(run(std::ceil(found)) == 0);
  CHECK(run(std::floor(0.995 * found)) == 1);
}

TEST_CASE("sensitivity refuses what it cannot use") {
  const auto says = [](const std::string& arguments, const std::string& text) {
    CAPTURE(arguments);
    const CommandResult result = ask(arguments);
    CHECK(result.status == 2);
    CHECK(contains(result.out, text));
  };
  says("pipeline-1f1b --figure 'matmul rat'", "did you mean \"matmul rate\"?");
  says("pipeline-1f1b --figure 'nic bandwidth'",
       "no traffic of \"nic bandwidth\"; it has nvlink bandwidth");
  says("pipeline-1f1b --limit 0.5", "--limit: expected a number from 1.01 to 100, got \"0.5\"");
  says("pipeline-1f1b --spread 'matmul rate'", "--spread: expected a parameter and a share");
  says("pipeline-1f1b --spread 'matmul rat=5%'", "did you mean \"matmul rate\"?");
  says("pipeline-1f1b --spread 'matmul rate=120%'", "--spread: expected a parameter and a share");
  says("pipeline-1f1b --find 'matmul rate'", "--find NAME and --for CONDITION go together");
  says("pipeline-1f1b --find 'matmul rate' --for 'step < 1'",
       "--for: \"step < 1\": no column \"step\"");
  says("pipeline-1f1b --find 'matmul rate' --for 'step_time_s'",
       "--for: \"step_time_s\": expected");
  says("pipeline-1f1b --find 'matmul rate' --for 'step_time < 1' --elasticities",
       "--find takes no");
}

TEST_CASE("a condition that no value meets ends with exit code 1 and the best step") {
  const CommandResult result =
      ask("pipeline-1f1b --find 'nvlink bandwidth' --for 'step_time < 1 s'");
  CHECK(result.status == 1);
  CHECK(contains(result.out, "no nvlink bandwidth makes step_time < 1 s"));
}

}  // namespace lockstep
