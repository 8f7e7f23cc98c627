#include <doctest/doctest.h>

#include <cctype>
#include <set>
#include <sstream>

#include "sim/config/json/config_error.hpp"
#include "tests/tools/run_command.hpp"
#include "tests/topologies/files/schema_agreement.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/plan/plan.hpp"

using namespace lockstep;
using namespace lockstep::app;

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

PlanResult answer(const std::string& name) {
  PlanRequest request;
  request.space.file = (kConfigs / "spaces" / (name + ".json")).string();
  request.top = 1;
  return plan(request);
}

std::uint64_t points(const std::string& name) {
  SpaceRequest request;
  request.file = (kConfigs / "spaces" / (name + ".json")).string();
  return make_space(request).size();
}

}  // namespace

TEST_CASE("spaces: schema and reader accept all shipped files and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/space.schema.json", [](std::string_view text) {
                               check_space_file(parse_json(text, "s.json"));
                             }};
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(kConfigs / "spaces")) {
    if (file.path().extension() != ".json") continue;
    ++count;
    CAPTURE(file.path().string());
    const std::string text = text_of_file(file.path());
    CHECK(text.find("\"summary\": \"") != std::string::npos);
    CHECK(both.verdict(text) == "both accept");
  }
  CHECK(count == 5);
  const std::string good = text_of_file(kConfigs / "spaces/llama3-8b-30-days.json");
  for (const Mutation& m : std::vector<Mutation>{{"unknown key", "/varies", "{}"},
                                                 {"nodes of none", "/nodes", "0"},
                                                 {"axes as a list", "/vary", "[1]"},
                                                 {"a limit alone", "/where", "\"days <= 30\""},
                                                 {"a front of one", "/pareto", "[\"days\"]"},
                                                 {"price as text", "/price", "\"2\""},
                                                 {"a negative price", "/price", "-1"},
                                                 {"impossible pue", "/pue", "0.9"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good, m)) == "both refuse");
  }
}

TEST_CASE("spaces: the best layout of two nodes is proved") {
  const PlanResult result = answer("llama3-8b-16-h100");
  CHECK(result.complete);
  REQUIRE(result.rows.size() == 1);
  // No layout beats the bound of its own cell, nor another one that was simulated.
  for (const SimulatedLayout& each : result.simulated)
    if (each.fits) CHECK(each.step_s >= result.rows.front().step->throughput.step_s);
}

// 6 * 8.03e9 * 15e12 = 7.2e23 FLOPs: 256 GPUs at their peak of 989 TFLOP/s take 33 days, so that
// 512 are the fewest of 128, 256, 512 and 1024 that could hold the date.
TEST_CASE("spaces: the fewest nodes that meet a date") {
  const PlanResult result = answer("llama3-8b-30-days");
  REQUIRE(result.rows.size() == 1);
  const auto metric = [&](PlanMetric of) {
    return *result.rows.front().metrics[static_cast<std::size_t>(of)];
  };
  CHECK(metric(PlanMetric::days) <= 30);
  CHECK(result.objective.metric == PlanMetric::gpus);
  CHECK(metric(PlanMetric::gpus) >= 512);
  // A limit of the request comes on top of the file's.
  PlanRequest more;
  more.space.file = (kConfigs / "spaces/llama3-8b-30-days.json").string();
  more.where = {"gpus <= 128"};
  CHECK_THROWS_AS((void)plan(more), Refusal);
}

TEST_CASE("spaces: two clusters as an axis") {
  const PlanResult result = answer("h100-400g-b200-800g");
  REQUIRE(result.rows.size() == 1);
  CHECK(result.space.setting_count() == 2);
  // 2.27 times the dense bf16 peak (2250 over 989 TFLOP/s): B200 wins.
  CHECK(result.rows.front().step->scenario.cluster.device.id == "b200-sxm-180gb");
}

// DeepSpeed's ZeRO-1 without a pipeline leaves out two things: a list of two texts, not a pair.
TEST_CASE("plan --emit: JSON lists what is not expressed") {
  const auto json =
      lockstep::json_of(std::string{"lockstep plan --space h100-400g-b200-800g --emit deepspeed"});
  const auto& flags = json.at("launch_flags");
  CHECK(flags.at("framework") == "deepspeed");
  CHECK(flags.at("not_expressed").is_array());
  CHECK(flags.at("not_expressed").size() == 2);
}

// The five best of this space differ in vpp and ZeRO alone; 100 columns have no room for all keys.
TEST_CASE("plan: no two layouts look the same in a table") {
  const CommandResult result = run_command(
      "COLUMNS=100 lockstep plan llama3-70b --fix tp=4 --fix pp=4 --fix cp=1 --fix overlap=all "
      "--fix recompute=none --fix sequence_parallel=true --fix order=tp-cp-dp-pp");
  REQUIRE(result.status == 0);
  std::istringstream lines{result.out};
  std::set<std::string> layouts;
  std::size_t step = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# rank ", 0) == 0) step = line.find("step") - 3;
    if (step != std::string::npos && line.rfind("  ", 0) == 0 && line.size() > step &&
        std::isdigit(static_cast<unsigned char>(line[2])) != 0)
      CHECK_MESSAGE(layouts.insert(line.substr(3, step - 3)).second, result.out);
  }
  CHECK(layouts.size() == 5);
  CHECK_FALSE(contains(result.out, "margin, cost"));  // no price is known: not a column
}

TEST_CASE("plan --emit, --plot: bad values are one error") {
  const std::string plan = "lockstep plan --space h100-400g-b200-800g ";
  for (const auto& [options, error] : std::vector<std::pair<std::string, std::string>>{
           {"--emit megatrn", "did you mean \"megatron\"?"},
           {"--plot pie=x.svg", "unknown figure \"pie\"; available: front, heatmap, rejections"},
           {"--plot front=x.svg --explain tp=2", "--explain: has neither --emit nor --plot"}}) {
    const CommandResult result = run_command(plan + options);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK_MESSAGE(result.err.find(error) != std::string::npos, result.err);
  }
}

// 512 GPUs: counted only; a bench decides them.
TEST_CASE("spaces: large ones are read and counted") {
  CHECK(points("llama3-70b-512-h100") > 10'000'000);
  CHECK(points("gpt3-175b-512-a100") > 13'000'000);
}
