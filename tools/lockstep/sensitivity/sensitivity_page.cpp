#include "tools/lockstep/sensitivity/sensitivity_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/figures/bar_figure.hpp"
#include "tools/figures/tornado_figure.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/sensitivity/sensitivity_render.hpp"

namespace lockstep::cli {

namespace {

using figures::FigureStyle;

constexpr std::size_t kMostBars = 24;
constexpr double kSmallElasticity = 5e-4;
constexpr double kSmallSwing = 5e-4;  // of the step

std::string tornado(const SensitivityResult& result, const FigureStyle& style) {
  figures::TornadoFigure figure;
  const Duration step = result.step.throughput.step;
  figure.heading = {"Which uncertain parameter dominates the step time",
                    {result.step.scenario.name}};
  figure.axis = {"Step time", figures::Unit::seconds, false};
  figure.middle = step.seconds();
  figure.middle_label = "step " + to_string(step);
  for (const app::SpreadEffect& each : result.spreads) {
    if (figure.bars.size() == kMostBars ||
        (each.high - each.low).seconds() < kSmallSwing * step.seconds())
      break;
    figure.bars.push_back({fmt::format("{}, \u00b1{:.3g} %",
                                       result.figures[each.figure].figure.name, 100 * each.spread),
                           each.low.seconds(), each.high.seconds()});
  }
  figure.notes.emplace_back(
      "Each parameter alone, better and worse by its spread: the error of validated measurements, "
      "or "
      "as given. Parameters that make less than 0.05 % of the step are left out.");
  return draw(figure, style);
}

std::string elasticities(const SensitivityResult& result, const FigureStyle& style) {
  figures::BarFigure figure;
  figure.heading = {"By how much of itself the step changes with each parameter",
                    {result.step.scenario.name}};
  figure.axis = {"Change of the step time in % per % of the value, without its sign",
                 figures::Unit::count, false};
  figure.parts = {{"elasticity"}};
  for (const app::FigureSensitivity& each : result.figures) {
    const double elasticity = each.elasticity();
    if (std::abs(elasticity) < kSmallElasticity || figure.bars.size() == kMostBars) continue;
    figure.bars.push_back(
        {each.figure.name, {std::abs(elasticity)}, fmt::format("{:+.3f}", elasticity)});
  }
  figure.notes.emplace_back("Parameters below 0.0005 are left out.");
  return draw(figure, style);
}

}  // namespace

std::vector<std::string> sensitivity_figure_kinds(const SensitivityResult& result) {
  if (result.spreads.empty()) return {"elasticity"};
  return {"tornado", "elasticity"};
}

std::string sensitivity_figure(const std::string& kind, const SensitivityResult& result,
                               const FigureStyle& style) {
  return kind == "tornado" ? tornado(result, style) : elasticities(result, style);
}

std::string sensitivity_page(const SensitivityResult& result, const std::string& parts,
                             bool ranges) {
  std::vector<PageFigure> drawn;
  for (const std::string& kind : sensitivity_figure_kinds(result))
    drawn.push_back({kind, [kind, &result](bool compact) {
                       return sensitivity_figure(kind, result,
                                                 {.prefix = kind, .compact = compact});
                     }});
  return report_page(sensitivity_report(result, parts, ranges), drawn, KeptRows::first);
}

}  // namespace lockstep::cli
