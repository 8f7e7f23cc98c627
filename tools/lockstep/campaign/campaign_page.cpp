#include "tools/lockstep/campaign/campaign_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tools/figures/bar_figure.hpp"
#include "tools/figures/curve_figure.hpp"
#include "tools/lockstep/campaign/campaign_render.hpp"
#include "tools/lockstep/report/report_page.hpp"

namespace lockstep::cli {

namespace {

using figures::FigureStyle;

constexpr std::size_t kMostSteps = 200;  // of a distribution's curve

std::string buckets(const CampaignOutcome& of, const FigureStyle& style) {
  app::BucketTimes all;
  double wall = 0;
  for (const Replicate& each : of.replicates) {
    wall += each.wall().seconds();
    for (std::size_t i = 0; i < app::kTimeBuckets; ++i) all.time.at(i) += each.times.time.at(i);
  }
  figures::BarFigure figure;
  figure.heading = {"What wall time is lost to",
                    {of.label, fmt::format("{:.2f} % is productive training",
                                           100 * all.time.front().seconds() / wall)}};
  figure.axis = {"Share of the wall time, all replicates", figures::Unit::share, false};
  figure.parts = {{"share", std::string{figures::kColors[1]}}};
  for (std::size_t i = 1; i < app::kTimeBuckets; ++i) {
    const double share = all.time.at(i).seconds() / wall;
    if (share <= 0) continue;
    figure.bars.push_back({time_bucket_label(i), {share}, fmt::format("{:.3f} %", 100 * share)});
  }
  std::ranges::stable_sort(figure.bars, std::ranges::greater{},
                           [](const figures::Bar& bar) { return bar.values.front(); });
  return draw(figure, style);
}

/// Fractions of replicates that have ended by a time.
figures::Curve distribution_of(const CampaignOutcome& of) {
  std::vector<double> days = of.each([](const Replicate& each) { return each.wall().days(); });
  std::ranges::sort(days);
  figures::Curve out{of.label, {}};
  const std::size_t steps = std::min(days.size(), kMostSteps);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t at = steps > 1 ? i * (days.size() - 1) / (steps - 1) : 0;
    out.points.push_back(
        {days[at], static_cast<double>(at + 1) / static_cast<double>(days.size())});
  }
  return out;
}

std::string distribution(const CampaignResult& result, const FigureStyle& style) {
  figures::CurveFigure figure;
  figure.heading = {"When the training ends",
                    {fmt::format("{} replicates, seed {}", result.replicates, result.seed)}};
  figure.x = {"Wall time in days", figures::Unit::count, false};
  figure.y = {"Share of replicates that have ended", figures::Unit::share, false};
  for (const CampaignOutcome& each : result.outcomes) {
    figure.curves.push_back(distribution_of(each));
    const app::Spread days =
        app::spread_of(each.each([](const Replicate& of) { return of.wall().days(); }));
    figure.notes.push_back(fmt::format("{}: P10 {:.4g} d, median {:.4g} d, P90 {:.4g} d",
                                       each.label, days.p10, days.p50, days.p90));
    if (result.outcomes.size() > 1) continue;
    figure.crossings = {{days.p10, "P10"}, {days.p50, "median"}, {days.p90, "P90"}};
  }
  return draw(figure, style);
}

/// "Young 257.5 s, Daly 259.5 s, ...".
std::string closed_forms(const CampaignOutcome& of) {
  constexpr std::pair<app::IntervalRule, const char*> kRules[] = {
      {app::IntervalRule::young, "Young"},
      {app::IntervalRule::daly, "Daly"},
      {app::IntervalRule::exponential, "exact exponential optimum"},
      {app::IntervalRule::availability, "availability optimum"}};
  std::vector<std::string> out;
  for (const auto& [rule, name] : kRules)
    out.push_back(fmt::format("{} {:.4g} s", name, *closed_interval(rule, of.inputs)));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string intervals(const CampaignResult& result, const FigureStyle& style) {
  figures::CurveFigure figure;
  figure.heading = {"How much the checkpoint interval matters", {}};
  figure.x = {"Training between two saves", figures::Unit::seconds, true};
  figure.y = {"Goodput lost against the best interval", figures::Unit::share, false};
  for (const CampaignOutcome& each : result.outcomes) {
    if (each.search.empty()) continue;
    const app::IntervalPoint& best = each.search.points[each.search.best];
    const auto seconds = [&](std::int64_t steps) {
      return static_cast<double>(steps) * each.step_s;
    };
    figures::Curve curve{each.label, {}};
    for (const app::IntervalPoint& point : each.search.points)
      curve.points.push_back({seconds(point.steps), best.goodput - point.goodput});
    figure.curves.push_back(std::move(curve));
    const double from = seconds(each.search.flat_from);
    const double to = seconds(each.search.flat_to);
    figure.heading.details.push_back(
        fmt::format("{}: goodput {:.2f} % at {:.4g} s; from {:.4g} s to {:.4g} s less than 0.1 % "
                    "of it are lost",
                    each.label, 100 * best.goodput, seconds(best.steps), from, to));
    if (result.outcomes.size() == 1)
      figure.crossings = {
          {from, "0.1 %"}, {seconds(best.steps), "simulated optimum"}, {to, "0.1 %"}};
    figure.notes.push_back(fmt::format("{}: {}", each.label, closed_forms(each)));
  }
  return draw(figure, style);
}

}  // namespace

std::string campaign_page(const CampaignResult& result) {
  std::vector<PageFigure> drawn;
  const auto add = [&drawn](const std::string& kind, auto make) {
    drawn.push_back(
        {kind, [kind, make](bool compact) { return make({.prefix = kind, .compact = compact}); }});
  };
  for (std::size_t i = 0; i < result.outcomes.size(); ++i)
    add(fmt::format("badput{}", i + 1),
        [&result, i](const FigureStyle& style) { return buckets(result.outcomes[i], style); });
  add("distribution", [&](const FigureStyle& style) { return distribution(result, style); });
  const auto searched = [](const CampaignOutcome& each) { return !each.search.empty(); };
  if (std::ranges::any_of(result.outcomes, searched))
    add("intervals", [&](const FigureStyle& style) { return intervals(result, style); });
  return report_page(campaign_report(result, {true, false}), drawn, KeptRows::first);
}

}  // namespace lockstep::cli
