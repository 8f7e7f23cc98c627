#include "tools/lockstep/jobs/jobs_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/figures/bar_figure.hpp"
#include "tools/lockstep/jobs/jobs_render.hpp"
#include "tools/lockstep/jobs/placement_text.hpp"
#include "tools/lockstep/report/report_page.hpp"

namespace lockstep::cli {

namespace {

using figures::FigureStyle;

std::string steps(const app::JobsResult& result, const FigureStyle& style) {
  figures::BarFigure figure;
  figure.heading = {"How much jobs slow each other down",
                    {fmt::format("{} jobs on {} GPUs of {}, {}", result.jobs.size(), result.gpus,
                                 result.cluster, policy_name(result.policy))}};
  figure.axis = {"Step time", figures::Unit::seconds, false};
  figure.parts = {
      {"step alone"},
      {"longer by the other jobs", std::string{figures::kColors[1]}, figures::Pattern::stripes}};
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const app::JobResult& each = result.jobs[i];
    const double more = std::max(0.0, (each.together - each.alone).seconds());
    figure.bars.push_back(
        {fmt::format("{}: {}", i + 1, each.scenario.name),
         {each.alone.seconds(), more},
         fmt::format("{} ({:+.2f} %)", to_string(each.together), 100 * each.slowdown())});
  }
  return draw(figure, style);
}

std::string links(const app::JobsResult& result, const FigureStyle& style) {
  figures::BarFigure figure;
  figure.heading = {"Links that several jobs use", {"the busiest link of each kind"}};
  figure.axis = {"Share of the time in use", figures::Unit::share, false};
  figure.most = 1;
  figure.parts = {{"busiest"}};
  for (const app::LinkClass& each : result.shared)
    figure.bars.push_back(
        {fmt::format("{} ({} links)", each.name, each.links),
         {each.busiest},
         fmt::format("{:.1f} %, mean {:.1f} %", 100 * each.busiest, 100 * each.mean)});
  return draw(figure, style);
}

}  // namespace

std::string jobs_page(const app::JobsResult& result, const std::vector<std::string>& changes) {
  std::vector<PageFigure> drawn{{"steps", [&](bool compact) {
                                   return steps(result, {.prefix = "steps", .compact = compact});
                                 }}};
  if (!result.shared.empty())
    drawn.push_back({"links", [&](bool compact) {
                       return links(result, {.prefix = "links", .compact = compact});
                     }});
  return report_page(jobs_report(result, changes), drawn);
}

}  // namespace lockstep::cli
