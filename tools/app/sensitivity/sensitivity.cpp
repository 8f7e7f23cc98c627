#include "tools/app/sensitivity/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/sensitivity/layout_steps.hpp"
#include "tools/app/sensitivity/range.hpp"
#include "tools/app/sensitivity/spreads.hpp"
#include "tools/app/step/requested_scenario.hpp"

namespace lockstep::app {

namespace {

FigureSensitivity sensitivity_of(const SensitivityRequest& request, const TrainingStepResult& now,
                                 const Figure& figure, std::atomic<std::size_t>& simulations) {
  FigurePoints points{request.step, figure, now};
  FigureSensitivity out{.figure = figure, .lower = {}, .upper = {}};
  out.lower = range_side(points, 1 / request.limit, request.ranges);
  out.upper = range_side(points, request.limit, request.ranges);
  out.best = points.at(request.ranges ? far_better(figure) : 1).step;
  if (request.ranges) out.knee = knee_of(points, out.best, request.limit);
  simulations += points.simulations();
  return out;
}

std::vector<Figure> chosen(const std::vector<std::string>& names, std::vector<Figure> all) {
  if (names.empty()) return all;
  std::vector<Figure> out;
  for (const std::string& name : names) {
    const Figure& found = find_figure(all, name);
    const bool twice = std::any_of(out.begin(), out.end(),
                                   [&](const Figure& each) { return each.name == found.name; });
    if (!twice) out.push_back(found);
  }
  return out;
}

/// Without their steps.
std::vector<SpreadEffect> spreads_of(const SensitivityRequest& request,
                                     const SensitivityResult& result,
                                     const std::vector<Figure>& figures) {
  std::vector<std::optional<SpreadEffect>> by_figure(figures.size());
  if (request.shipped_spreads) {
    const auto shipped = load_spreads(config_folder() + "/validation/spreads.json");
    for (std::size_t i = 0; i < figures.size(); ++i)
      if (const FigureSpread* found =
              spread_of(shipped, figures[i].name, result.step.scenario.cluster.device.kernels,
                        result.step.throughput.precision))
        by_figure[i] = {.figure = i, .spread = found->spread, .rows = found->rows};
  }
  for (const auto& [name, spread] : request.spreads) {
    const auto i = static_cast<std::size_t>(&find_figure(figures, name) - figures.data());
    by_figure[i] = {.figure = i, .spread = spread};
  }
  std::vector<SpreadEffect> out;
  for (const auto& each : by_figure)
    if (each) out.push_back(*each);
  return out;
}

std::vector<SpreadEffect> spread_effects(const SensitivityRequest& request,
                                         const SensitivityResult& result) {
  std::vector<Figure> figures;
  for (const FigureSensitivity& each : result.figures) figures.push_back(each.figure);
  std::vector<SpreadEffect> out = spreads_of(request, result, figures);
  in_parallel(out.size(), [&](std::size_t i) {
    const Figure& figure = figures[out[i].figure];
    const auto step = [&](double factor) {
      return step_with(request.step, figure, factor).throughput.step;
    };
    std::tie(out[i].low, out[i].high) =
        std::minmax({step(1 + out[i].spread), step(1 - out[i].spread)});
  });
  std::stable_sort(out.begin(), out.end(), [](const SpreadEffect& a, const SpreadEffect& b) {
    return a.high - a.low > b.high - b.low;
  });
  return out;
}

}  // namespace

TrainingStepResult step_with(const TrainingStepRequest& request, const Figure& figure,
                             double factor) {
  TrainingStepRequest changed = for_comparison(request);
  figure.scale(changed, factor);
  return run_step(changed);
}

SensitivityResult sensitivity(const SensitivityRequest& request) {
  SensitivityResult out{run_step(request.step)};
  out.limit = request.limit;
  const std::vector<Figure> figures = chosen(request.figures, figures_of(request.step, out.step));
  for (const auto& [name, spread] : request.spreads) (void)find_figure(figures, name);
  // The fidelity that was chosen for the step holds for all.
  SensitivityRequest fixed = request;
  fixed.step.simulation.fidelity = out.step.step.fidelity;
  const std::vector<LayoutChange> changes =
      request.layout ? layout_steps(out.step) : std::vector<LayoutChange>{};
  std::vector<std::optional<FigureSensitivity>> found(figures.size());
  out.layout.resize(changes.size());
  std::atomic<std::size_t> simulations = 0;
  ProgressCounter progress(request.on_progress, figures.size() + changes.size());
  in_parallel(figures.size() + changes.size(), [&](std::size_t i) {
    if (i < figures.size()) {
      found[i] = sensitivity_of(fixed, out.step, figures[i], simulations);
    } else {
      out.layout[i - figures.size()] =
          simulated(for_comparison(fixed.step), changes[i - figures.size()]);
      ++simulations;
    }
    progress.step();
  });
  for (auto& each : found) out.figures.push_back(*std::move(each));
  std::stable_sort(out.figures.begin(), out.figures.end(),
                   [](const FigureSensitivity& a, const FigureSensitivity& b) {
                     return std::abs(a.elasticity()) > std::abs(b.elasticity());
                   });
  sort_by_time(out.layout);
  out.spreads = spread_effects(fixed, out);
  out.simulations = simulations + 2 * out.spreads.size();
  return out;
}

}  // namespace lockstep::app
