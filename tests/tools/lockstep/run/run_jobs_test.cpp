#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kBinary{LOCKSTEP_BINARY};

/// Two levels of switches with half as many uplinks as downlinks.
const std::string kOversubscribed =
    R"(--set 'cluster.fabric={"builder": "fat_tree", "radix": 32, "hosts_per_leaf": 16, "levels": 2, "oversubscription": "2:1", "link": {"bandwidth": "200 Gb/s", "latency": "1 us", "source": "by definition"}}')";

}  // namespace

TEST_CASE("run --job says how much jobs slow each other down, and where") {
  const std::string arguments = " run zero-7b5-3 --set model.layers=4 " + kOversubscribed +
                                " --job 'zero-7b5-3 model.layers=4' --place spread";
  const std::string table = output_of(kBinary + arguments);
  CHECK(contains(table, "2 jobs on 128 GPUs of dgx-a100, spread"));
  CHECK(contains(table, "leaf -> spine"));
  const Json json = Json::parse(output_of(kBinary + arguments + " --format json"));
  CHECK(json["schema"] == "lockstep.run.jobs/1");
  REQUIRE(json["rows"].size() == 2);
  for (const Json& row : json["rows"]) {
    CHECK(row["step_time_s"].get<double>() > row["step_alone_s"].get<double>());
    CHECK(row["ranks"] == 64);
  }
  CHECK(json["rows"][0]["step_time_s"] == json["rows"][1]["step_time_s"]);
  CHECK(run_command(kBinary + arguments + " --assert 'slowdown_fraction < 1 %' >/dev/null 2>&1")
            .status == 1);
}

// The oracles are `run` of the first job alone: its draws, and its step without them.
TEST_CASE("run --job says whose ranks are slow, who was drawn and what that costs alone") {
  const std::string slow = " --set model.layers=4 --set-rank random:5%=0.8 --seed 7";
  const std::string jobs = " run zero-7b5-3" + slow + " --job 'pipeline-1f1b cluster.nodes=1'";
  const Json alone =
      Json::parse(output_of(kBinary + " run zero-7b5-3 --suggest 0 --format json" + slow));
  const Json json = Json::parse(output_of(kBinary + jobs + " --format json"));
  REQUIRE(json["drawn_speeds"].size() == 2);
  CHECK(json["drawn_speeds"][0] == alone["drawn_speeds"]);
  CHECK(json["drawn_speeds"][1].empty());
  CHECK(json["seed"] == 7);
  CHECK(json["rows"][0]["step_alone_s"] == alone["step_time_s"]);
  CHECK(json["rows"][0]["unchanged_step_alone_s"] == alone["baseline_step_time_s"]);
  CHECK(json["rows"][1]["unchanged_step_alone_s"].is_null());
  CHECK(json["rows"][1]["changes"] == "--set cluster.nodes=1");
  const std::string table = output_of(kBinary + jobs);
  CHECK(contains(table,
                 "# job 1, zero-7b5-3: with --set model.layers=4 --set seed=7 --set-rank random:5% "
                 "compute=0.8\n"
                 "# job 1: 3 of 64 GPUs drawn with seed 7: rank "));
  CHECK(contains(table, "# job 1 alone: +"));
  CHECK(contains(table, " without the changes of GPU speeds\n"));
}

TEST_CASE("another job runs on the first one's cluster") {
  const Json json = Json::parse(output_of(
      kBinary + " run zero-7b5-0 --job 'pipeline-1f1b parallel.global_batch=8' --format json"));
  CHECK(json["config"][1]["cluster"]["gpu"] == json["config"][0]["cluster"]["gpu"]);
  CHECK(json["config"][1]["parallel"]["global_batch"] == 8);
}

TEST_CASE("options of one job are refused with several, and those of several with one") {
  const auto says = [](const std::string& arguments, const std::string& text) {
    CAPTURE(arguments);
    const CommandResult result = run_command(kBinary + " run pipeline-1f1b " + arguments + " 2>&1");
    CHECK(result.status == 2);
    CHECK(contains(result.out, text));
  };
  says("--job pipeline-1f1b --trace a.json", "--trace is of one job: not with --job");
  says("--job pipeline-1f1b --plot memory=a.svg", "--plot is of one job: not with --job");
  for (const char* option : {"--classes", "--fold off", "--fidelity all"})
    says(std::string{"--job pipeline-1f1b "} + option,
         " is of one job: not with --job, where every rank is simulated individually");
  says("--job pipeline-1f1b --report a.svg", "--report");
  says("--job pipeline-1f1b --set-rank 0 compute=0.5,from=1ms",
       "--set-rank 0: from and until are times of a single step; jobs that share a cluster repeat "
       "theirs");
  says("--place spread", "--place needs --job");
  says("--job pipeline-2f1b", "did you mean \"pipeline-1f1b\"?");
  says("--job 'pipeline-1f1b tp'", "expected a scenario and then KEY=VALUE, got \"tp\"");
  says("--job 'pipeline-1f1b parallel.tq=2'", "--job parallel.tq=2: error: /parallel");
  says("--job pipeline-1f1b --place near", "--place: expected packed, spread, random[:SEED] or");
  says("--job pipeline-1f1b --place random:x", "--place random: expected an integer");
  says("--job pipeline-1f1b --place spread --place packed", "--place: one of packed, spread");
  says("--job pipeline-1f1b --place 0..3", "--place: 1 lists of GPUs for 2 jobs");
  says("--job pipeline-1f1b --gpus 4", "--gpus: the jobs have 8 ranks, the cluster 4 GPUs");
  says("--job pipeline-1f1b --steps 0", "--steps: expected an integer from 1 to 100");
}

}  // namespace lockstep
