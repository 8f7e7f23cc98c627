#include "tools/lockstep/step_data/step_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tools/app/inputs/scenario_file.hpp"
#include "tools/lockstep/report/page_data.hpp"

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

TEST_CASE("an operation between stages has the links of its route") {
  const Data data = Data::parse(step_data(pipeline(), kPageBudget));
  // dgx-a100: from GPU to GPU of a node over its NVSwitch.
  REQUIRE(data["links"].size() > 0);
  const Data& route = data["links"][0];
  CHECK(route["kinds"] == Data{"gpu -> nvswitch", "nvswitch -> gpu"});
  CHECK(route["links"].size() == 2);
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
