#include "tools/lockstep/complexity/complexity_render.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/collective/setup_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::cli {

namespace {

enum class Quantity : std::uint8_t { count, time };

/// One growth: class, exponent and residual for programs; for people the exponent, of counts after
/// their class.
void add(const std::optional<GrowthFit>& fit, Quantity quantity, std::vector<Cell>& row) {
  if (!fit) {
    row.push_back(Cell{});
    row.back().text = "too few points";
    row.insert(row.end(), 2, Cell{});
    return;
  }
  const std::string name{to_string(fit->growth)};
  const double exponent = std::abs(fit->exponent) < 0.005 ? 0.0 : fit->exponent;
  row.emplace_back(
      name, quantity == Quantity::time
                ? fmt::format("N^{:.2f}", exponent)
                : fmt::format("{}{:<10} N^{:.2f}", fit->is_close() ? "" : "~", name, exponent));
  row.emplace_back(fit->exponent);
  row.emplace_back(fit->residual);
}

std::vector<Column> growth_columns(const ComplexityRequest& request) {
  std::vector<Column> out = {{"algorithm", "algorithm", "", true}};
  const auto three = [&](const std::string& key, const std::string& heading,
                         const std::string& unit) {
    out.push_back({key + "_growth", heading, unit, true});
    out.push_back({key + "_exponent", "", ""});
    out.push_back({key + "_residual", "", ""});
  };
  out.push_back({"asymptotic_time", "asymptotic", "time", true});
  three("rounds", "rounds", "");
  three("small_time", "fitted time", "at " + to_string(request.small));
  three("busiest_bytes", "busiest node", "bytes");
  three("total_bytes", "all nodes", "bytes");
  three("large_time", "fitted time", "at " + to_string(request.large));
  return out;
}

Report growth_report(const ComplexityRequest& request, const ComplexityResult& result) {
  Report out;
  out.columns = growth_columns(request);
  out.left_out_first = {"total_bytes_growth", "rounds_growth", "busiest_bytes_growth"};
  Section section;
  bool absent = false;
  for (const ComplexityOutcome& outcome : result.outcomes) {
    auto& row = section.rows.emplace_back();
    row.emplace_back(outcome.spec.text());
    if (outcome.asymptotic_time) {
      row.emplace_back(std::string{to_string(*outcome.asymptotic_time)});
    } else {
      row.push_back(Cell{});
      row.back().text = "too few points";
    }
    add(outcome.rounds, Quantity::count, row);
    add(outcome.small_time, Quantity::time, row);
    add(outcome.busiest, Quantity::count, row);
    add(outcome.total, Quantity::count, row);
    add(outcome.large_time, Quantity::time, row);
    absent = absent || !outcome.rounds || !outcome.small_time || !outcome.large_time;
  }
  out.sections.push_back(std::move(section));
  out.footer = {
      "asymptotic: class of the rounds (latency) or of the busiest node's bytes (bandwidth), "
      "whichever grows faster; the time of a large message may show it only at more ranks",
      "N^x: fitted slope on logarithmic axes over the upper half of the range; O(f) of a count: "
      "a + b*f(N) there, for O(1) a + b/N; ~: no class fits within 10 %"};
  if (absent)
    out.footer.push_back(fmt::format(
        "too few points: a fit needs 3 counts of ranks N >= {:.3g} (5 powers of two in --ranks do) "
        "that are not too large to simulate; --measured prints the points",
        std::max(2.0, std::sqrt(static_cast<double>(request.ranks.front()) *
                                static_cast<double>(request.ranks.back())))));
  return out;
}

Cell time_cell(const std::optional<Duration>& time) {
  if (time) return Cell{time->seconds(), fmt::format("{:.2f}", time->seconds() * 1e6)};
  Cell out;
  out.text = "-";
  return out;
}

Cell rounds_cell(const std::optional<std::int64_t>& rounds) {
  if (rounds) return Cell{*rounds};
  Cell out;
  out.text = "-";
  return out;
}

std::vector<Cell> point_row(const ComplexityOutcome& outcome, const ComplexityPoint& point) {
  return {Cell{outcome.spec.text()},   Cell{std::int64_t{point.ranks}}, rounds_cell(point.rounds),
          Cell{point.messages},        Cell{point.busiest.count()},     Cell{point.total.count()},
          time_cell(point.small_time), time_cell(point.large_time)};
}

Report point_report(const ComplexityRequest& request, const ComplexityResult& result) {
  Report out;
  out.columns = {{"algorithm", "algorithm", "", true},
                 {"ranks", "ranks", ""},
                 {"rounds", "rounds", ""},
                 {"messages", "messages", ""},
                 {"busiest_bytes", "busiest node", "(B)"},
                 {"total_bytes", "in total", "(B)"},
                 {"small_time_s", "time " + to_string(request.small), "(us)"},
                 {"large_time_s", "time " + to_string(request.large), "(us)"}};
  out.left_out_first = {"messages", "total_bytes", "rounds", "busiest_bytes"};
  for (const ComplexityOutcome& outcome : result.outcomes) {
    Section section;
    for (const ComplexityPoint& point : outcome.points)
      section.rows.push_back(point_row(outcome, point));
    out.sections.push_back(std::move(section));
  }
  return out;
}

std::string config_of(const ComplexityRequest& request) {
  Json out;
  out["collective"] = to_string(request.collective);
  out["cluster"] = {{"file", request.cluster.path()}};
  out["network"] = request.network.model;
  out["routes"] = request.cluster.routes;
  out["algorithms"] = Json::array();
  for (const AlgorithmSpec& spec : request.algorithms) out["algorithms"].push_back(spec.text());
  out["ranks"] = request.ranks;
  out["root"] = request.root;
  out["small_size_bytes"] = request.small.count();
  out["large_size_bytes"] = request.large.count();
  out["type"] = request.type->name;
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return out.dump();
}

std::string fingerprint_of(const ComplexityResult& result) {
  Fingerprint out;
  for (const ComplexityOutcome& outcome : result.outcomes)
    for (const ComplexityPoint& point : outcome.points) {
      for (const std::int64_t number : {std::int64_t{point.ranks}, point.rounds.value_or(-1),
                                        point.messages, point.busiest.count(), point.total.count()})
        out.add(number);
      for (const auto& time : {point.small_time, point.large_time}) out.add(time ? time->ps() : -1);
    }
  return out.text();
}

/// The printer's object, with the measurements before its rows.
std::string render_json(Report report, Report points) {
  points.config = report.config;
  Json measured = Json::parse(render(points, Format::json));
  Json whole = Json::parse(render(report, Format::json));
  Json rows = std::move(whole["rows"]);
  whole.erase("rows");
  whole["points"] = std::move(measured["rows"]);
  whole["rows"] = std::move(rows);
  return whole.dump(2) + "\n";
}

std::string text_of(const UnmeasuredRanks& of) {
  if (of.all) return fmt::format("{} is left out: {}", of.spec.text(), of.problem.message);
  return fmt::format("{} is left out at {} numbers of ranks, as at {}: {}", of.spec.text(),
                     of.count, of.first, of.problem.message);
}

}  // namespace

std::string cluster_text(const ComplexityResult& result) {
  return result.setup ? setup_text(*result.setup) : "";
}

Report report_of(const ComplexityRequest& request, const ComplexityResult& result, bool measured) {
  Report report = measured ? point_report(request, result) : growth_report(request, result);
  report.schema = "lockstep.complexity/1";
  report.config = config_of(request);
  report.seed = request.cluster.seed;
  report.fingerprint = fingerprint_of(result);
  if (!report.sections.empty()) {
    auto& notes = report.sections.front().notes;
    notes.push_back(fmt::format("{}: growth with N = {} to {} ranks on {}",
                                to_string(request.collective), request.ranks.front(),
                                request.ranks.back(), cluster_text(result)));
    for (const UnmeasuredRanks& each : result.unmeasured) notes.push_back(text_of(each));
  }
  return report;
}

std::string render(const ComplexityRequest& request, const ComplexityResult& result, bool measured,
                   const OutputStyle& style) {
  const Report report = report_of(request, result, measured);
  if (style.format == Format::json) return render_json(report, point_report(request, result));
  return render(report, style);
}

}  // namespace lockstep::cli
