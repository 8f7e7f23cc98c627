#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "tests/tools/new_file.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {
namespace {

namespace fs = std::filesystem;

/// The shipped configs with other tags: by folder, every value has the same one. Used until the
/// end of the test.
class TaggedConfigs {
 public:
  explicit TaggedConfigs(const std::map<std::string, std::string>& tags) {
    fs::copy(LOCKSTEP_SOURCE_DIR "/configs", folder_.path(), fs::copy_options::recursive);
    for (const auto& [of, tag] : tags) {
      const std::string replacement = "$1\"" + tag + "\"";
      for (const auto& file : fs::directory_iterator{folder_.path() + "/" + of}) {
        if (file.path().extension() == ".json") replace(file.path(), replacement);
      }
    }
    use_config_folder(folder_.path());
  }
  TaggedConfigs(const TaggedConfigs&) = delete;
  TaggedConfigs& operator=(const TaggedConfigs&) = delete;
  ~TaggedConfigs() {
    use_config_folder({});
    fs::remove_all(folder_.path());
  }

 private:
  static void replace(const fs::path& path, const std::string& replacement) {
    static const std::regex tag{R"re(("(?:latency_)?provenance": )"[a-z_]+")re"};
    std::ifstream in{path};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    in.close();
    std::ofstream{path} << std::regex_replace(text, tag, replacement);
  }

  NewFile folder_;
};

StepProvenance provenance_of(const std::string& scenario, std::vector<std::string> overrides = {}) {
  TrainingStepRequest request;
  request.file = scenario_file(scenario);
  request.overrides = std::move(overrides);
  return run_step(request).provenance;
}

double fraction(const StepProvenance& of, Provenance provenance) {
  return of.fractions.at(static_cast<std::size_t>(provenance));
}

const std::vector<std::string> kFolders{"devices", "kernels", "stacks", "clusters", "calibration"};

std::map<std::string, std::string> all_tagged(const std::string& tag) {
  std::map<std::string, std::string> out;
  for (const std::string& folder : kFolders) out[folder] = tag;
  return out;
}

TEST_CASE("a step whose values all have one provenance rests on it wholly") {
  // Weakest of equal ones, whatever limits an operation: GEMMs, memory, launches, links, costs.
  for (const Provenance tag :
       {Provenance::datasheet, Provenance::measured, Provenance::announced}) {
    CAPTURE(to_string(tag));
    const TaggedConfigs configs{all_tagged(std::string{to_string(tag)})};
    const StepProvenance found = provenance_of("attention-two-gpus");
    CHECK(fraction(found, tag) == doctest::Approx(1));
    CHECK_FALSE(found.values.empty());
  }
}

TEST_CASE("an efficiency stands for the datasheet's value, not for an announced one") {
  auto tags = all_tagged("measured");
  tags["devices"] = "datasheet";
  {
    const TaggedConfigs configs{tags};
    CHECK(fraction(provenance_of("attention-two-gpus"), Provenance::measured) ==
          doctest::Approx(1));
  }
  tags["devices"] = "announced";
  const TaggedConfigs configs{tags};
  const StepProvenance found = provenance_of("attention-two-gpus");
  // Peaks and memory are the device's; the rest is links, launches and multiprocessor rates.
  CHECK(fraction(found, Provenance::announced) > 0.5);
  CHECK(fraction(found, Provenance::announced) + fraction(found, Provenance::measured) ==
        doctest::Approx(1));
  CHECK(found.unsure() == fraction(found, Provenance::announced));
  CHECK(found.values.front().basis.value.find(" of devices/a100-sxm4-80gb") != std::string::npos);
}

TEST_CASE("collectives rest on their fitted costs, or on a link that is less sure") {
  const auto of_links = [](const std::string& links) {
    auto tags = all_tagged("measured");
    tags["calibration"] = "fitted";
    tags["clusters"] = links;
    const TaggedConfigs configs{tags};
    return provenance_of("attention-two-gpus");
  };
  const double communication = fraction(of_links("datasheet"), Provenance::fitted);
  CHECK(communication > 0.01);
  CHECK(fraction(of_links("assumed"), Provenance::assumed) == doctest::Approx(communication));
  CHECK(fraction(of_links("assumed"), Provenance::fitted) == 0);
}

/// Steps of fragments have programs of different lengths: what is said of the critical path is of
/// the one whose timeline is reported, the first fragment's.
TEST_CASE("DiLoCo in fragments: the critical path is one of the timeline that is reported") {
  for (const char* every : {"2", "3", "5"}) {
    CAPTURE(every);
    TrainingStepRequest request;
    request.file = scenario_file("mlp-two-gpus");
    request.overrides = {
        R"(parallel={"dp": 2, "micro_batch": 2, "global_batch": 4, "exchange": "diloco",)"
        R"( "average_every": )" +
        std::string{every} + R"(, "fragments": 2})"};
    const TrainingStepResult result = run_step(request);
    const TrainingStepTimeline& timeline = result.step.timeline;
    const TrainingStepSummary shown = summarise(timeline);
    CHECK(result.summary.busiest.rank == shown.busiest.rank);
    CHECK(result.summary.path_legs.size() == shown.path_legs.size());
    REQUIRE(result.summary.path_operations.size() == shown.path_operations.size());
    for (std::size_t i = 0; i < shown.path_operations.size(); ++i) {
      const PathOperation& part = result.summary.path_operations[i];
      CHECK(part.operation == shown.path_operations[i].operation);
      REQUIRE(part.rank < timeline.ranks.size());
      const RoleProgram& role = timeline.roles[timeline.ranks[part.rank].role];
      CHECK(part.operation < role.operations.size());
    }
    const auto& fractions = result.provenance.fractions;
    CHECK(std::accumulate(fractions.begin(), fractions.end(), 0.0) == doctest::Approx(1));
  }
}

TEST_CASE("what a request changes about links is assumed") {
  const auto network = [](const std::vector<std::string>& overrides) {
    // Sixteen GPUs in two nodes: gradients cross the network.
    const std::string layout = "parallel={\"dp\": 16, \"micro_batch\": 1, \"global_batch\": 16}";
    std::vector<std::string> all{"cluster={\"file\": \"dgx-a100\", \"nodes\": 2}", layout};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return provenance_of("attention-two-gpus", all);
  };
  const double before = fraction(network({}), Provenance::assumed);
  const double after =
      fraction(network({"cluster.fabric.link.bandwidth=\"100 Gb/s\""}), Provenance::assumed);
  CHECK(after > before + 0.1);
}

TEST_CASE("shipped scenarios: fractions sum up to 1, kernels of another generation are assumed") {
  for (const char* scenario : {"llama3-70b-dgx-h100", "pipeline-1f1b", "parameter-server"}) {
    CAPTURE(scenario);
    const StepProvenance found = provenance_of(scenario);
    CHECK(std::accumulate(found.fractions.begin(), found.fractions.end(), 0.0) ==
          doctest::Approx(1));
    for (std::size_t i = 1; i < found.values.size(); ++i)
      CHECK(found.values[i].fraction <= found.values[i - 1].fraction);
  }
  const std::vector<std::string> blackwell{"cluster={\"file\": \"dgx-b200\", \"nodes\": 8}"};
  // On Blackwell attention and memory-bound kernels have Hopper's efficiencies, GEMMs their own.
  CHECK(provenance_of("llama3-70b-dgx-h100").unsure() < 0.05);
  CHECK(provenance_of("llama3-70b-dgx-h100", blackwell).unsure() > 0.1);
}

}  // namespace
}  // namespace lockstep::app
