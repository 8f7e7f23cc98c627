#include "tools/lockstep/jobs/jobs_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/json/json_values.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/jobs/placement_text.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"

namespace lockstep::cli {

namespace {

using app::JobResult;
using app::JobsResult;

constexpr std::size_t kMostLinks = 4;
constexpr std::size_t kLongestList = 20;

/// Of the table, where lists may be long.
std::string shortened(const std::string& list) {
  if (list.size() <= kLongestList) return list;
  return list.substr(0, list.rfind(',', kLongestList)) + ", ...";
}

Cell time(Duration of) {
  return Cell{of.seconds(), to_string(of)};
}

DrawnRanks drawn_of(const JobResult& job) {
  return {job.drawn_ranks, job.speeds, job.scenario.parallel.ranks(), job.scenario.seed};
}

/// Of job `i`: what was changed, who was drawn, and what that costs alone.
void add_change_notes(const JobResult& job, std::size_t i, const std::string& changes,
                      std::vector<std::string>& out) {
  if (!changes.empty())
    out.push_back(fmt::format("job {}, {}: with {}", i + 1, job.scenario.name, changes));
  if (!job.drawn_ranks.empty())
    out.push_back(fmt::format("job {}: {}", i + 1, drawn_line(drawn_of(job))));
  if (job.unchanged)
    out.push_back(fmt::format(
        "job {} alone: {:+.2f} % against {} without the changes of GPU speeds", i + 1,
        100 * (job.alone.seconds() / job.unchanged->seconds() - 1), to_string(*job.unchanged)));
}

std::vector<std::string> link_notes(const JobsResult& result) {
  if (result.shared.empty()) return {"no link carries traffic of several jobs"};
  std::vector<std::string> out{"links that several jobs use, the busiest first"};
  for (std::size_t i = 0; i < std::min(kMostLinks, result.shared.size()); ++i) {
    const app::LinkClass& each = result.shared[i];
    out.push_back(fmt::format("  {}: {} links of {}, busiest {:.1f} %, mean {:.1f} %", each.name,
                              each.links, to_string(each.bandwidth), 100 * each.busiest,
                              100 * each.mean));
  }
  return out;
}

}  // namespace

Report jobs_report(const JobsResult& result, const std::vector<std::string>& changes) {
  Report out;
  out.schema = "lockstep.run.jobs/1";
  Json config = Json::array();
  app::Fingerprint physics;
  for (const JobResult& each : result.jobs) {
    config.push_back(Json::parse(json_text(each.scenario.resolved)));
    for (const EndpointId gpu : each.gpus) physics.add(static_cast<std::int64_t>(gpu));
    physics.add(each.alone.ps());
    physics.add(each.together.ps());
  }
  out.config = config.dump();
  out.fingerprint = physics.text();
  out.columns = {{"job", "job", {}, false},
                 {"name", "scenario", {}, true, 30},
                 {"ranks", "ranks", {}, false},
                 {"gpus", "GPUs", {}, true, 24},
                 {"step_alone_s", "step alone", {}, false},
                 {"step_time_s", "with others", {}, false},
                 {"slowdown_fraction", "slower by", "%", false},
                 {"shortest_step_s", {}, {}, false},
                 {"longest_step_s", {}, {}, false},
                 {"steps", "steps", {}, false},
                 {"unchanged_step_alone_s", {}, {}, false},
                 {"changes", {}, {}, true}};
  Section section;
  section.notes = {fmt::format("{} jobs on {} GPUs of {}, {}; every rank and every transfer",
                               result.jobs.size(), result.gpus, result.cluster,
                               policy_name(result.policy))};
  Json drawn = Json::array();
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobResult& each = result.jobs[i];
    const std::string changed = i < changes.size() ? changes[i] : std::string{};
    const auto [least, most] = std::ranges::minmax(each.each);
    section.rows.push_back({Cell{static_cast<std::int64_t>(i + 1)}, Cell{each.scenario.name},
                            Cell{static_cast<std::int64_t>(each.gpus.size())},
                            Cell{gpu_ranges(each.gpus), shortened(gpu_ranges(each.gpus))},
                            time(each.alone), time(each.together),
                            Cell{each.slowdown(), fmt::format("{:.2f}", 100 * each.slowdown())},
                            time(least), time(most), Cell{static_cast<std::int64_t>(each.steps)},
                            each.unchanged ? time(*each.unchanged) : Cell{}, Cell{changed}});
    add_change_notes(each, i, changed, section.notes);
    drawn.push_back(drawn_json(drawn_of(each)));
  }
  section.closing = link_notes(result);
  out.more.emplace_back("drawn_speeds", drawn.dump());
  out.seed = result.jobs.front().scenario.seed;
  out.sections.push_back(std::move(section));
  out.more.emplace_back("gpus", std::to_string(result.gpus));
  out.more.emplace_back("placement", Json(std::string{policy_name(result.policy)}).dump());
  Json links = Json::array();
  for (const app::LinkClass& each : result.shared)
    links.push_back({{"links", each.name},
                     {"count", each.links},
                     {"bandwidth_Bps", each.bandwidth.bytes_per_second()},
                     {"busiest_fraction", each.busiest},
                     {"mean_fraction", each.mean},
                     {"example", each.example}});
  out.more.emplace_back("shared_links", links.dump());
  return out;
}

}  // namespace lockstep::cli
