#include "tools/lockstep/step_data/step_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/tools/run_command.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"

/// The data that the script of a page gets: all of the timeline, or what fits and a note.
namespace lockstep::cli {
namespace {

using Data = nlohmann::json;

const TrainingStepResult& pipeline() {
  static const TrainingStepResult result = [] {
    TrainingStepRequest request;
    request.file = scenario_file("pipeline-1f1b");
    request.link_series = true;
    return run_step(request);
  }();
  return result;
}

TEST_CASE("packed text is deflate in base64") {
  // RFC 1951: "a" is one block of fixed codes, bits 1 01, 10010001, 0000000: bytes 4b 04 00.
  CHECK(packed("a") == "SwQA");
  CHECK(packed_size("a") == 4);
  const std::string text(100'000, 'x');
  CHECK(packed_size(text) == packed(text).size());
  CHECK(packed_size(text) < 1000);
}

TEST_CASE("the data of a step has every operation that takes time, at its time") {
  const TrainingStepTimeline& timeline = pipeline().step.timeline;
  const Data data = Data::parse(step_data(pipeline(), kPageBudget));
  CHECK(data["note"] == "");
  CHECK(data["end"] == timeline.end.ps());
  REQUIRE(data["ranks"].size() == timeline.ranks.size());
  for (const Data& rank : data["ranks"]) {
    const auto found =
        std::ranges::find(timeline.ranks, rank["rank"].get<int>(), &RankTimeline::rank);
    REQUIRE(found != timeline.ranks.end());
    // Starts and ends from gaps and times by stream, as the page adds them up.
    const Data& role = data["roles"][rank["role"].get<std::size_t>()];
    std::map<int, std::int64_t> ends;
    std::multiset<std::pair<std::int64_t, std::int64_t>> got;
    for (std::size_t i = 0; i < rank["gap"].size(); ++i) {
      std::int64_t& end = ends[role["stream"][i].get<int>()];
      const std::int64_t start = end + rank["gap"][i].get<std::int64_t>();
      end = start + rank["time"][i].get<std::int64_t>();
      got.emplace(start, end);
    }
    std::multiset<std::pair<std::int64_t, std::int64_t>> expected;
    for (const Interval& each : found->operations)
      if (each.end > each.start) expected.emplace(each.start.ps(), each.end.ps());
    CHECK(std::ranges::includes(got, expected));
  }
}

/// The names of the links of an entry of "routes".
std::set<std::string> names_of(const Data& data, const Data& route) {
  std::set<std::string> out;
  const auto ids = data["links"]["id"].get<std::vector<int>>();
  for (const int link : route["links"].get<std::vector<int>>()) {
    const auto at = std::ranges::find(ids, link) - ids.begin();
    out.insert(data["links"]["name"][static_cast<std::size_t>(at)].get<std::string>());
  }
  return out;
}

TEST_CASE("an operation between stages has the links of its route") {
  const Data data = Data::parse(step_data(pipeline(), kPageBudget));
  // dgx-a100: from GPU to GPU of a node over its NVSwitch; stage 0 sends to stage 1.
  REQUIRE(data["routes"].size() > 0);
  const Data& route = data["routes"][0];
  CHECK(route["members"] == Data{0, 1});
  CHECK(route["algorithm"] == "");
  CHECK(names_of(data, route) ==
        std::set<std::string>{"node0/gpu0 -> node0/nvswitch0", "node0/nvswitch0 -> node0/gpu1"});
}

TEST_CASE("a collective has the links of all messages of its algorithm") {
  const TemporaryFile file{R"({"cluster": {"file": "dgx-a100", "ranks": 4},
    "model": {"name": "mlp", "kind": "mlp", "hidden": 1024, "ffn": 4096},
    "parallel": {"tp": 4, "micro_batch": 64, "global_batch": 64, "algorithms": {"tp": "ring"}}})"};
  const auto links = [&](const std::string& algorithm) {
    TrainingStepRequest request;
    request.file = file.path();
    request.overrides = {"parallel.algorithms.tp=" + algorithm};
    const TrainingStepResult result = run_step(request);
    const Data data = Data::parse(step_data(result, kPageBudget));
    REQUIRE(data["routes"].size() == 1);
    CHECK(data["routes"][0]["members"] == Data{0, 1, 2, 3});
    CHECK(data["routes"][0]["algorithm"] == algorithm);
    return names_of(data, data["routes"][0]);
  };
  // Every rank sends to and receives from its neighbors over the NVSwitch.
  std::set<std::string> ring;
  for (int gpu = 0; gpu < 4; ++gpu) {
    ring.insert(fmt::format("node0/gpu{} -> node0/nvswitch0", gpu));
    ring.insert(fmt::format("node0/nvswitch0 -> node0/gpu{}", gpu));
  }
  CHECK(links("ring") == ring);
}

TEST_CASE("loads of links over the step add up to the bytes that they carry") {
  for (const std::string name :
       {"pipeline-1f1b", "zero-7b5-3", "parameter-server", "moe-parallel-folding"}) {
    CAPTURE(name);
    TrainingStepRequest request;
    request.file = scenario_file(name);
    request.ignore_memory = true;
    const TrainingStepResult result = run_step(request);
    REQUIRE(result.step.fidelity == Fidelity::all_ranks);
    const Cluster& cluster = result.scenario.cluster.cluster;
    const StepLinkLoads loads = link_loads(result, 100);
    std::map<LinkId, double> bytes;
    const double end = result.step.timeline.end.since_start().seconds();
    for (const LinkLoad& each : loads.links)
      bytes[each.link] =
          each.mean * end * cluster.link(each.link).figures.carried().bytes_per_second();
    for (std::size_t i = 0; i < result.step.timeline.link_bytes.size(); ++i) {
      const auto carried = static_cast<double>(result.step.timeline.link_bytes[i].count());
      CAPTURE(cluster.link_name(static_cast<LinkId>(i)));
      CHECK(bytes[static_cast<LinkId>(i)] == doctest::Approx(carried).epsilon(1e-6));
    }
  }
}

TEST_CASE("data over its budget is thinned, and the note says how") {
  const std::string all = step_data(pipeline(), kPageBudget);
  const std::size_t budget = packed_size(all) / 2;
  const std::string fewer = step_data(pipeline(), budget);
  CHECK(packed_size(fewer) <= budget);
  const Data data = Data::parse(fewer);
  CHECK(data["ranks"].size() < pipeline().step.timeline.ranks.size());
  CHECK(data["note"].get<std::string>().find("of 4 simulated ranks") != std::string::npos);
  // One rank is always there, without its short operations.
  const Data least = Data::parse(step_data(pipeline(), 10'000));
  CHECK(least["ranks"].size() == 1);
  CHECK(least["note"].get<std::string>().find("Operations below") != std::string::npos);
}

TEST_CASE("links over time are recorded for reports of few ranks alone") {
  CHECK_FALSE(pipeline().step.links.empty());
  TrainingStepRequest request;
  request.file = scenario_file("zero-7b5-3");  // 64 GPUs
  request.link_series = true;
  CHECK(run_step(request).step.links.empty());
}

}  // namespace
}  // namespace lockstep::cli
