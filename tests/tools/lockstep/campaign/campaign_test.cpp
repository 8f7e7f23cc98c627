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

const std::string kMonth = "lockstep campaign llama7b-256 month-of-failures ";

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
  const std::string command = kMonth + "--replicates 50 --format json";
  const std::string one = output_of(command + " --threads 1");
  CHECK(one == output_of(command + " --threads 7"));
  CHECK(one != output_of(command + " --seed 2"));
}

TEST_CASE("campaign: training and badput sum to the wall time exactly") {
  const TemporaryFile rows{""};
  const Json result = json_of(kMonth + "--replicates 50 --replicate-rows " + rows.path());
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
  const Json result =
      json_of(kMonth + "--replicates 50 --change parallel.tp=4 --change parallel.dp=16");
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

TEST_CASE("campaign: money and energy follow from their inputs or are unknown") {
  const Json result = json_of(kMonth + "--replicates 20");
  // 34 nodes with the 2 spare ones, 30 days: 272 * 720 GPU-hours.
  CHECK(row_of(result, "GPU-hours, with spares").at("mean").get<double>() ==
        doctest::Approx(272 * 720));
  const double energy = row_of(result, "energy with PUE").at("mean").get<double>();
  CHECK(energy > 272 * 720 * 0.485 * 1.2);  // static power alone
  CHECK(row_of(result, "cost").at("mean").get<double>() ==
        doctest::Approx(272 * 720 * 2.5 + 0.08 * energy));
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
  struct Case {
    std::string arguments;
    int status;
    std::string error;
  };
  for (const Case& each : std::vector<Case>{
           {"llama7b-256 " + typo.path(), 2,
            ":1:2: error: /cuases: unknown key \"cuases\"; did you mean \"causes\"?"},
           {"llama7b-256 monht-of-failures", 2, "did you mean \"month-of-failures\"?"},
           {"llama7b-256 missing.json", 2, "missing.json"},
           {"llama7b-265 month-of-failures", 2, "did you mean \"llama7b-256\"?"},
           {"llama7b-256", 2, "campaign"},
           {"llama7b-256 month-of-failures --replicates 0", 2,
            "--replicates: expected an integer from 1 to 1000000, got \"0\""},
           {"llama7b-256 month-of-failures --set-campaign policy=retry", 2,
            "--set-campaign policy=retry: error: /policy: no policy named \"retry\""},
           {"llama7b-256 " + endless.path(), 1, "the training makes no progress"}}) {
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
        json_of(kMonth + "--replicates 20 --set-campaign checkpoint.interval=" + rule);
    const Json interval = result.at("outcomes").at(0).at("interval");
    CHECK(interval.at("rule") == rule);
    // Whole steps nearest to the closed form.
    const double step = result.at("outcomes").at(0).at("step_time_s").get<double>();
    CHECK(std::abs(interval.at("used").at("interval_s").get<double>() -
                   interval.at(rule).at("interval_s").get<double>()) <= step / 2);
  }
  const Json given =
      json_of(kMonth + "--replicates 20 --set-campaign 'checkpoint.interval=10 min'");
  CHECK(given.at("outcomes").at(0).at("interval").at("rule") == "given");
}
