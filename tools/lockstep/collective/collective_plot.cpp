#include "tools/lockstep/collective/collective_plot.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "sim/base/check.hpp"
#include "tools/lockstep/plot/plot.hpp"

namespace lockstep::cli {

namespace {

std::size_t place_of(const Report& report, std::string_view key) {
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    if (report.columns[i].key == key) return i;
  throw InternalError("no such column");
}

double number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell.value))
    return static_cast<double>(*whole);
  return std::get<double>(cell.value);
}

}  // namespace

void plot_collective(const Report& report, const std::string& target) {
  const std::size_t algorithm = place_of(report, "algorithm");
  const std::size_t collective = place_of(report, "collective");
  const std::size_t size = place_of(report, "size_bytes");
  const std::size_t time = place_of(report, "time_s");
  std::vector<PlotSeries> series;
  std::vector<std::string> collectives;
  for (const Section& section : report.sections) {
    for (const auto& row : section.rows) {
      const auto& name = std::get<std::string>(row[collective].value);
      if (std::find(collectives.begin(), collectives.end(), name) == collectives.end())
        collectives.push_back(name);
    }
  }
  for (const Section& section : report.sections) {
    if (section.rows.empty()) continue;
    PlotSeries line;
    line.name = std::get<std::string>(section.rows.front()[algorithm].value);
    if (collectives.size() > 1)
      line.name = std::get<std::string>(section.rows.front()[collective].value) + " " + line.name;
    for (const auto& row : section.rows)
      line.points.push_back({number(row[size]), number(row[time])});
    series.push_back(std::move(line));
  }
  const std::string title =
      report.sections.front().notes.empty() ? std::string{} : report.sections.front().notes.front();
  plot(series, {title, {"message", PlotUnit::bytes}, {"time", PlotUnit::seconds}}, target);
}

}  // namespace lockstep::cli
