#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/run_command.hpp"

using namespace lockstep;
using Json = nlohmann::ordered_json;

namespace {

const std::string kTypical = "lockstep campaign llama7b-256 typical-failures ";

/// A row of the first scenario by its quantity.
Json row_of(const Json& result, const std::string& quantity) {
  for (const Json& row : result.at("rows"))
    if (row.at("quantity") == quantity) return row;
  FAIL("no row " << quantity);
  return {};
}

}  // namespace

// Grattafiori et al. 2024, arXiv 2407.21783, section 3.3.4 and table 5: 419 unexpected and 47
// planned interruptions in 54 days, more than 90 % effective training time. The number of failures
// is a Poisson variable with mean 419: its mean over 1,000 replicates is within 3 standard errors.
TEST_CASE("campaign: Llama 3's 54 days on 16,384 GPUs") {
  if (kSanitized) return;
  const Json result = json_of("lockstep campaign llama3-405b-16k-h100 llama3-405b-54-days");
  const Json failures = row_of(result, "failures");
  const double deviation = std::sqrt(419.0 / 1000);
  CHECK(std::abs(failures.at("mean").get<double>() - 419) < 3 * deviation);
  CHECK(failures.at("p10").get<double>() < 419);
  CHECK(failures.at("p90").get<double>() > 419);
  CHECK(row_of(result, "planned maintenances").at("mean") == 47);
  const Json goodput = row_of(result, "goodput");
  CHECK(goodput.at("p10").get<double>() > 90);
  CHECK(goodput.at("p90").get<double>() < 100);
  CHECK(result.at("outcomes").at(0).at("mtbf_s").get<double>() ==
        doctest::Approx(54 * 86400 / 419.0));
  CHECK(row_of(result, "cost").at("mean").is_null());  // no price is published
  // 405.85e9 parameters: weights in bf16, and master weights and two moments in fp32.
  const double bytes = result.at("outcomes").at(0).at("checkpoint").at("size_bytes").get<double>();
  CHECK(bytes == doctest::Approx(405.853e9 * 14).epsilon(0.001));
}

TEST_CASE("campaign: the same seed gives the same bytes, whatever the number of threads") {
  const std::string command = kTypical + "--replicates 50 --format json";
  const std::string one = output_of(command + " --threads 1");
  CHECK(one == output_of(command + " --threads 7"));
  CHECK(one != output_of(command + " --seed 2"));
}

TEST_CASE("campaign: training and badput sum to the wall time exactly") {
  const TemporaryFile rows{""};
  const Json result = json_of(kTypical + "--replicates 50 --replicate-rows " + rows.path());
  const auto check_sum = [](const Json& times) {
    CHECK(times.size() == 13);  // wall, productive, 11 kinds of badput
    std::int64_t sum = 0;
    for (const auto& [name, us] : times.items())
      if (name != "wall") sum += us.get<std::int64_t>();
    CHECK(sum == times.at("wall").get<std::int64_t>());
  };
  check_sum(result.at("outcomes").at(0).at("totals_us"));
  check_sum(result.at("outcomes").at(0).at("first_replicate_us"));
  const std::vector<std::string> lines = lines_of(text_of(rows.path()));
  REQUIRE(lines.size() == 51);
  std::istringstream fields{lines[1]};
  std::vector<std::int64_t> values;
  for (std::string field; std::getline(fields, field, ',');) values.push_back(std::stoll(field));
  REQUIRE(values.size() == 18);
  std::int64_t sum = 0;
  for (std::size_t i = 3; i < 15; ++i) sum += values[i];
  CHECK(sum == values[2]);
}

// Replicas of more GPUs fail no differently: the counts of both layouts are equal, replicate by
// replicate.
TEST_CASE("campaign: layouts are compared under the same failures") {
  const Json result = json_of(kTypical +
                              "--replicates 50 --set-campaign 'duration=30 d' --change "
                              "parallel.tp=4 --change parallel.dp=16");
  std::map<std::string, std::vector<double>> failures;
  std::vector<Json> differences;
  for (const Json& row : result.at("rows")) {
    if (row.at("quantity") == "failures")
      failures[row.at("scenario")].push_back(row.at("mean").get<double>());
    if (row.at("part") == "difference") differences.push_back(row);
  }
  REQUIRE(failures.size() == 2);
  CHECK(failures.begin()->second == failures.rbegin()->second);
  REQUIRE(differences.size() == 3);
  CHECK(differences[1].at("quantity") == "goodput");
}

// 12 bytes per parameter of optimizer states and 2 of weights; one replica has 4 of 32 nodes, whose
// NICs limit a save once the storage does not.
TEST_CASE("campaign: saves are limited by the storage or by the NICs of the writing nodes") {
  const auto save = [](const std::string& changes) {
    return json_of(kTypical + "--replicates 1 " + changes).at("outcomes").at(0).at("checkpoint");
  };
  const Json slow = save("");
  const double bytes = slow.at("size_bytes").get<double>();
  CHECK(bytes == doctest::Approx(14 * 6.738e9).epsilon(0.001));
  CHECK(slow.at("save_s").get<double>() == doctest::Approx(bytes / 20e9).epsilon(1e-6));
  CHECK(slow.at("stall_s") == 0.5);
  const std::string fast = "--set-campaign 'checkpoint.storage.write=50 TB/s' ";
  const Json sharded = save(fast);
  const Json whole = save(fast + "--set-campaign checkpoint.sharded=false");
  CHECK(whole.at("save_s").get<double>() / sharded.at("save_s").get<double>() ==
        doctest::Approx(8).epsilon(1e-3));
}

// Daly 2006: M e^(R/M) (e^((tau + C)/M) - 1) per tau, with M = 3 h, R = 60 s + 240 s + 120 s, C =
// 60 s, tau = 1,000 s; 1,000 intervals, of which failures in the first have no checkpoint to
// restore.
TEST_CASE("campaign: the wall time of a file with one cause is Daly's closed form") {
  const TemporaryFile file{R"({"steps": 100000, "step_time": "10 s", "causes": [{"name": "any",
    "domain": "software", "mtbf": "3 h", "detection": "60 s", "restart": "4 min"}], "checkpoint":
    {"interval": "1000 s", "save_time": "60 s", "load_time": "2 min"}})"};
  const Json result = json_of("lockstep campaign llama7b-256 " + file.path());
  const Json wall = row_of(result, "wall time");
  const double m = 3 * 3600;
  const double expected = 1000 * m * std::exp(420 / m) * std::expm1(1060 / m) / 86400;
  CHECK(std::abs(wall.at("mean").get<double>() - expected) <
        3 * wall.at("standard_error").get<double>());
  const Json used = result.at("outcomes").at(0).at("interval").at("used");
  CHECK(used.at("closed_form_goodput_fraction").get<double>() ==
        doctest::Approx(1e6 / 86400 / expected).epsilon(1e-9));
}

TEST_CASE("campaign: without failures a training saves once, at its end") {
  const TemporaryFile none{
      R"({"steps": 10, "checkpoint": {"save_time": "5 s", "load_time": "5 s"}})"};
  const Json result = json_of("lockstep campaign llama7b-256 " + none.path() + " --replicates 3");
  const Json outcome = result.at("outcomes").at(0);
  CHECK(outcome.at("mtbf_s").is_null());
  CHECK(row_of(result, "checkpoints saved").at("mean") == 1);
  CHECK(row_of(result, "wall time").at("p50").get<double>() * 86400 ==
        doctest::Approx(10 * outcome.at("step_time_s").get<double>() + 5).epsilon(1e-6));
}

TEST_CASE("campaign: money and energy follow from their inputs or are unknown") {
  const Json result = json_of(kTypical + "--replicates 20");
  // 32 nodes and the 2 spare ones.
  const double gpu_hours = 272 * 24 * row_of(result, "wall time").at("mean").get<double>();
  CHECK(row_of(result, "GPU-hours, with spares").at("mean").get<double>() ==
        doctest::Approx(gpu_hours));
  const double energy = row_of(result, "energy with PUE").at("mean").get<double>();
  CHECK(energy > gpu_hours * 0.485 * 1.2);  // static power alone
  CHECK(row_of(result, "cost").at("mean").get<double>() ==
        doctest::Approx(gpu_hours * 2.5 + 0.08 * energy));
  const CommandResult table = run_command(
      "COLUMNS=80 lockstep campaign llama3-70b-dgx-h100 llama3-405b-54-days --replicates 20");
  CHECK(table.status == 0);
  CHECK(contains(table.out, "unknown"));
  for (const std::string& line : lines_of(table.out)) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("campaign: bad input is one error that says what is allowed") {
  const TemporaryFile typo{
      R"({"cuases": [], "checkpoint": {"save_time": "5 s", "load_time": "5 s"}})"};
  const TemporaryFile endless{R"({"steps": 1000, "checkpoint": {"save_time": "5 s",
    "load_time": "5 s"}, "causes": [{"name": "a", "domain": "software", "mtbf": "20 s",
    "restart": "10 min"}]})"};
  // A failure in 2 h, of nodes that are away for a day: some node is away nearly always.
  const TemporaryFile hopeless{R"({"steps": 10000, "checkpoint": {"save_time": "5 s",
    "load_time": "5 s"}, "policy": "hot_spare", "causes": [{"name": "a", "domain": "node",
    "mtbf": "64 h", "repair": "1 d"}], "spares": {"nodes": 1}})"};
  struct Case {
    std::string arguments;
    int status;
    std::string error;
  };
  for (const Case& each : std::vector<Case>{
           {"llama7b-256 " + typo.path(), 2,
            ":1:2: error: /cuases: unknown key \"cuases\"; did you mean \"causes\"?"},
           {"llama7b-256 typicl-failures", 2, "did you mean \"typical-failures\"?"},
           {"llama7b-256 missing.json", 2, "missing.json"},
           {"llama7b-256 configs/scenarios/llama7b-256.json", 2,
            "llama7b-256.json:6:3: error: /cluster: this is a scenario; expected a campaign"},
           {"llama7b-265 typical-failures", 2, "did you mean \"llama7b-256\"?"},
           {"llama7b-256", 2, "campaign"},
           {"llama7b-256 typical-failures --replicates 0", 2,
            "--replicates: expected an integer from 1 to 1000000, got \"0\""},
           {"llama7b-256 typical-failures --set-campaign policy=retry", 2,
            "--set-campaign policy=retry: error: /policy: no policy named \"retry\""},
           {"llama7b-256 " + endless.path(), 1, "the training makes no progress"},
           {"llama7b-256 " + hopeless.path(), 1,
            "the training does not end: after 50 times its failure-free time"}}) {
    CAPTURE(each.arguments);
    const CommandResult result = run_command("lockstep campaign " + each.arguments);
    CHECK(result.status == each.status);
    CHECK(result.out.empty());
    CHECK_MESSAGE(contains(result.err, each.error), result.err);
  }
}

TEST_CASE("campaign: rules of the checkpoint interval") {
  for (const std::string rule : {"young", "daly", "exponential", "availability", "simulated"}) {
    CAPTURE(rule);
    const Json result =
        json_of(kTypical + "--replicates 20 --set-campaign checkpoint.interval=" + rule);
    const Json interval = result.at("outcomes").at(0).at("interval");
    CHECK(interval.at("rule") == rule);
    // Whole steps nearest to the closed form.
    const double step = result.at("outcomes").at(0).at("step_time_s").get<double>();
    CHECK(std::abs(interval.at("used").at("interval_s").get<double>() -
                   interval.at(rule).at("interval_s").get<double>()) <= step / 2);
  }
  const Json given =
      json_of(kTypical + "--replicates 20 --set-campaign 'checkpoint.interval=10 min'");
  CHECK(given.at("outcomes").at(0).at("interval").at("rule") == "given");
}

namespace {

/// Two jobs whose nodes alternate below leaves with half as many uplinks as downlinks.
const std::string kTwoJobs =
    R"(zero-7b5-3 --set 'cluster.fabric={"builder": "fat_tree", "radix": 32, "hosts_per_leaf": 16, "levels": 2, "oversubscription": "2:1", "link": {"bandwidth": "200 Gb/s", "latency": "1 us", "source": "by definition"}}' )"
    "--job zero-7b5-3 --place spread ";

}  // namespace

// The steps are those of `run`; next to the other job for all of the campaign, a job without
// failures takes its steps at that pace, minus the saves' time.
TEST_CASE("campaign --job: several jobs at the steps that `run --job` computes") {
  const Json run = json_of("lockstep run " + kTwoJobs);
  const double alone = run.at("rows").at(0).at("step_alone_s");
  const double together = run.at("rows").at(0).at("step_time_s");
  REQUIRE(together > 1.01 * alone);
  const std::string campaign = [] {
    const std::size_t job = kTwoJobs.find(' ');
    return "lockstep campaign " + kTwoJobs.substr(0, job) + " typical-failures" +
           kTwoJobs.substr(job);
  }();
  const std::string quiet =
      "--replicates 3 --set-campaign steps=10000 --set-campaign 'causes=[]' --set-campaign "
      "'stragglers={}' --set-campaign 'maintenance=[]' --set-campaign data_stall=0 ";
  const Json result = json_of(campaign + quiet);
  CHECK(result.at("outcomes").at(0).at("step_time_s") == alone);
  const Json& steps = result.at("together").at("steps");
  CHECK(steps.back().at("training") == Json{1, 2});
  CHECK(steps.back().at("step_time_s") == together);
  const Json& times = result.at("outcomes").at(1).at("first_replicate_us");
  const double trained = times.at("productive").get<double>() + times.at("other").get<double>();
  CHECK(trained == doctest::Approx(1e10 * together).epsilon(1e-6));
  CHECK(times.at("productive").get<double>() == doctest::Approx(1e10 * alone).epsilon(1e-6));
}

TEST_CASE("campaign --job: the same seed gives the same bytes, and buckets sum to the wall time") {
  const std::string command =
      "lockstep campaign zero-7b5-3 typical-failures --set model.layers=2 "
      "--job 'zero-7b5-3 parallel.zero=1 model.layers=2' "
      "--replicates 20 --set-campaign steps=100000 --format json";
  const std::string one = output_of(command + " --threads 1");
  CHECK(one == output_of(command + " --threads 5"));
  const Json result = Json::parse(one);
  for (const Json& outcome : result.at("outcomes")) {
    std::int64_t sum = 0;
    for (const auto& [name, us] : outcome.at("totals_us").items())
      if (name != "wall") sum += us.get<std::int64_t>();
    CHECK(sum == outcome.at("totals_us").at("wall").get<std::int64_t>());
  }
  CHECK(result.at("together").at("gpus_of_jobs") == Json{"0-63", "64-127"});
}

TEST_CASE("campaign --job: what is of one job is refused") {
  const auto says = [](const std::string& arguments, const std::string& text) {
    CAPTURE(arguments);
    const CommandResult result =
        run_command("lockstep campaign zero-7b5-3 typical-failures " + arguments);
    CHECK(result.status == 2);
    CHECK(contains(result.err, text));
  };
  says("--place spread", "--place needs --job");
  const CommandResult swapped = run_command("lockstep campaign typical-failures zero-7b5-3");
  CHECK(contains(swapped.err, "is a campaign: `lockstep campaign SCENARIO typical-failures`"));
  says("--job zero-7b5-3 --change parallel.zero=1", "--against and --change compare layouts");
  says("--job zero-7b5-3 --set-campaign step_time=\"1 s\"", "a measured step is of one job");
  says("--job zero-7b5-3 --job zero-7b5-3 --job zero-7b5-3 --job zero-7b5-3",
       "5 jobs, whose sets are all simulated; at most 4");
  says("--job 'zero-7b5-3 parallel.tq=2'", "--job parallel.tq=2: error: /parallel");
}

// dgx-a100: eight GPUs in a node, each with PCIe 4.0 at 32 GB/s * 0.75 = 24 GB/s, less than its NIC
// of 25 GB/s (configs/clusters/dgx-a100.json), on a fabric that does not block. 64 ranks write
// equal parts: of N storage nodes 8 N GPUs receive at 24 GB/s each; of one writer one GPU does.
TEST_CASE("campaign: saves to storage nodes take what their PCIe links take") {
  const auto checkpoint = [](const std::string& more) {
    const Json result = json_of(
        "lockstep campaign zero-7b5-3 typical-failures --replicates 1 --set-campaign steps=1000 "
        "--set-campaign stragglers={} " +
        more);
    return result.at("outcomes").at(0).at("checkpoint");
  };
  const auto fast = [](const std::string& nodes) {
    return "--set-campaign 'checkpoint.storage={\"write\": \"100 TB/s\"" + nodes + "}' ";
  };
  constexpr double kPcie = 24e9;
  for (const int nodes : {1, 2, 8}) {
    const Json of = checkpoint(fast(", \"nodes\": " + std::to_string(nodes)));
    const double expected = of.at("size_bytes").get<double>() / (8 * nodes * kPcie);
    CHECK(of.at("save_s").get<double>() == doctest::Approx(expected).epsilon(1e-3));
    CHECK(of.at("computed_by") == "transfers");
  }
  const Json whole = checkpoint(fast(", \"nodes\": 2") + "--set-campaign checkpoint.sharded=false");
  CHECK(whole.at("save_s").get<double>() ==
        doctest::Approx(whole.at("size_bytes").get<double>() / kPcie).epsilon(1e-3));
  // The storage's own bandwidth where it is less.
  const Json slow = checkpoint("--set-campaign checkpoint.storage.nodes=8");
  CHECK(slow.at("save_s").get<double>() ==
        doctest::Approx(slow.at("size_bytes").get<double>() / 20e9).epsilon(1e-6));
  CHECK(checkpoint(fast("")).at("computed_by") == "bandwidths");
}

// The oracle is `run --set-rank`, which compares with the step without it.
TEST_CASE("campaign: a slow GPU makes the step as much longer as its simulation says") {
  const Json result = json_of(
      "lockstep campaign llama7b-256 typical-failures --replicates 1 --set-campaign steps=1000 "
      "--set-campaign 'stragglers={\"per_gpu\": [{\"fraction\": 0.1, \"slowdown\": 1.25}]}'");
  const Json& slow = result.at("outcomes").at(0).at("slow_gpus");
  REQUIRE(slow.size() == 1);
  const std::string rank = std::to_string(slow.at(0).at("simulated_rank").get<int>());
  const Json run = json_of("lockstep run llama7b-256 --set-rank " + rank + " compute=0.8");
  const double longer =
      run.at("step_time_s").get<double>() / run.at("baseline_step_time_s").get<double>() - 1;
  CHECK(slow.at(0).at("step_longer_fraction").get<double>() ==
        doctest::Approx(longer).epsilon(1e-9));
  CHECK(longer > 0.05);
  CHECK(longer < 0.25);
  // With 25 slow GPUs of 256 expected, all of the training is at that pace.
  const Json& times = result.at("outcomes").at(0).at("first_replicate_us");
  CHECK(times.at("other").get<double>() / times.at("productive").get<double>() ==
        doctest::Approx(longer).epsilon(0.01));
}
