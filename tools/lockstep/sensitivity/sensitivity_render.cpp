#include "tools/lockstep/sensitivity/sensitivity_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/output/set_options.hpp"
#include "tools/lockstep/output/table.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/text/part_changes.hpp"

namespace lockstep::cli {

namespace {

constexpr double kHoursPerDay = 24;
constexpr double kBarWidth = 20;
constexpr auto kMostRate = static_cast<double>(Rate::kMaxSteps >> Rate::kFractionBits);  // B/s
constexpr double kNoEffect = 5e-5;  // elasticities that print as 0.0000
constexpr double kAlike = 1e-2;     // relative difference of elasticities that are one

std::string value_text(const Figure& figure, double value) {
  switch (figure.unit) {
    case FigureUnit::bytes_per_second:
      // As simulated: scaled_rate() ends there.
      return to_string(scaled_rate(Rate::from_steps(Rate::kMaxSteps), value / kMostRate));
    case FigureUnit::flops_per_second:
      return to_string(FlopRate{value});
    case FigureUnit::seconds:
      return to_string(Duration::picoseconds(std::llround(value * 1e12)));
    case FigureUnit::relative:
      return fmt::format("{:.3g} x", value);
  }
  return "";
}

std::string_view unit_name(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes_per_second:
      return "B/s";
    case FigureUnit::flops_per_second:
      return "FLOP/s";
    case FigureUnit::seconds:
      return "s";
    case FigureUnit::relative:
      return "factor";
  }
  return "";
}

Cell value_cell(const Figure& figure, double factor, bool open = false) {
  const double value = figure.value * factor;
  return Cell{value, value_text(figure, value) + (open ? "*" : "")};
}

std::string percent(double fraction) {
  return std::abs(fraction) < 5e-5 ? "0" : fmt::format("{:+.2f}", 100 * fraction);
}

std::string elasticity_text(double elasticity) {
  return std::abs(elasticity) < kNoEffect ? "0" : fmt::format("{:+.4f}", elasticity);
}

/// Of both sides where they differ.
Cell elasticity_cell(double below, double above) {
  const bool differ = std::abs(below - above) > kNoEffect + kAlike * std::abs(above);
  const std::string text = elasticity_text(above);
  return Cell{(below + above) / 2,
              differ ? fmt::format("{} / {}", elasticity_text(below), text) : text};
}

bool has_effect(const FigureSensitivity& each) {
  return std::abs(each.lower.elasticity) >= kNoEffect ||
         std::abs(each.upper.elasticity) >= kNoEffect || each.knee;
}

std::string uses_text(const RangeSide& side) {
  if (!side.more && !side.less) return "";
  if (!side.less) return "more " + to_string(*side.more);
  if (!side.more) return "less " + to_string(*side.less);
  return fmt::format("{} instead of {}", to_string(*side.more), to_string(*side.less));
}

/// Of the part that data formats name "figure".
std::string heading_of(const std::string& part) {
  return part == "figure" ? "parameter" : part;
}

/// One section with those columns that have a value in it.
Report alone(const Report& all, const Section& section) {
  Report out = all;
  out.columns.clear();
  out.sections = {section};
  for (auto& row : out.sections.front().rows) row.clear();
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    const auto has = [&](const std::vector<Cell>& row) {
      return !std::holds_alternative<std::monostate>(row[column].value);
    };
    if (all.columns[column].key == "part" || std::ranges::none_of(section.rows, has)) continue;
    out.columns.push_back(all.columns[column]);
    if (out.columns.back().key == "name" && !section.rows.empty())
      out.columns.back().heading = heading_of(plain(section.rows.front().front()));
    for (std::size_t i = 0; i < section.rows.size(); ++i)
      out.sections.front().rows[i].push_back(section.rows[i][column]);
  }
  return out;
}

/// After the first note, which has the step.
void add_parts(const std::string& parts, const TrainingStepResult& step,
               std::vector<std::string>& notes) {
  if (parts.empty()) return;
  std::vector<std::string> lines{"with " + parts};
  for (std::string& line : part_change_lines(step)) lines.push_back(std::move(line));
  notes.insert(notes.begin() + 1, lines.begin(), lines.end());
}

void add_parts_json(const std::string& parts, const TrainingStepResult& step, Report& out) {
  out.more.emplace_back("changes", Json(parts).dump());
  out.more.emplace_back(
      "fidelity",
      Json(step.step.fidelity == Fidelity::all_ranks ? "all" : "representatives").dump());
  out.more.emplace_back(
      "baseline_step_time_s",
      (step.baseline ? Json(step.baseline->step.seconds()) : Json(nullptr)).dump());
  out.more.emplace_back("drawn_speeds", drawn_json(drawn_ranks_of(step)).dump());
}

class SensitivityReport {
 public:
  /// `whole`: with figures that have no effect.
  SensitivityReport(const SensitivityResult& result, std::string parts, bool ranges, bool whole)
      : result_{result}, parts_{std::move(parts)}, ranges_{ranges}, whole_{whole} {}

  Report make() {
    out_.schema = "lockstep.sensitivity/1";
    out_.config = json_text(result_.step.scenario.resolved);
    out_.seed = result_.step.scenario.seed;
    out_.fingerprint = fingerprint_of_run(result_.step);
    out_.columns = {{"part", "", {}, true},
                    {"name", "name", {}, true, 40},
                    {"value", "value", {}, false},
                    {"unit", {}, {}, true},
                    {"elasticity", "elasticity", "% per %", false},
                    {"elasticity_below", {}, {}, false},
                    {"elasticity_above", {}, {}, false},
                    {"range_from", "holds from", {}, false},
                    {"range_to", "to", {}, false},
                    {"range_from_open", {}, {}, false},
                    {"range_to_open", {}, {}, false},
                    {"step_at_from_s", {}, {}, false},
                    {"step_at_to_s", {}, {}, false},
                    {"change_below", "path changes below", {}, true, 30},
                    {"change_above", "path changes above", {}, true, 30},
                    {"knee", "knee", {}, false},
                    {"best_step_s", "at best", {}, false},
                    {"best_change_fraction", "change", "%", false},
                    {"step_time_s", "step", {}, false},
                    {"change_fraction", "change", "%", false},
                    {"memory_fit", "memory", {}, true},
                    {"problem", "problem", {}, true, 50},
                    {"spread_fraction", "spread", "+-%", false},
                    {"spread_rows", "rows", {}, false},
                    {"low_step_s", "from", {}, false},
                    {"high_step_s", "to", {}, false},
                    {"swing_fraction", "swing", "%", false},
                    {"bar", "|", {}, true}};
    out_.left_out_first = {"best_step_s", "spread_rows"};
    out_.only_wide = {"change_below", "change_above", "problem"};
    add_figures();
    add_layout();
    add_spreads();
    out_.more.emplace_back("step_time_s", Json(step()).dump());
    out_.more.emplace_back("simulations", std::to_string(result_.simulations));
    add_parts_json(parts_, result_.step, out_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] double step() const { return result_.step.throughput.step.seconds(); }
  [[nodiscard]] std::size_t column(std::string_view key) const {
    const auto at = std::ranges::find(out_.columns, key, &Column::key);
    return static_cast<std::size_t>(at - out_.columns.begin());
  }
  [[nodiscard]] std::vector<Cell> row(const char* part, const std::string& name) const {
    std::vector<Cell> out(out_.columns.size());
    out[0] = Cell{std::string{part}};
    out[1] = Cell{name};
    return out;
  }
  void set(std::vector<Cell>& row, std::string_view key, Cell cell) const {
    row[column(key)] = std::move(cell);
  }
  [[nodiscard]] Cell time(Duration of) const { return Cell{of.seconds(), to_string(of)}; }
  [[nodiscard]] Cell change(Duration of) const {
    const double fraction = of.seconds() / step() - 1;
    return Cell{fraction, percent(fraction)};
  }

  void add_figures() {
    Section section;
    const ParallelConfig& plan = result_.step.scenario.parallel;
    section.notes = {
        fmt::format("{}: step {} on {} {}; {} simulations", result_.step.scenario.name,
                    to_string(result_.step.throughput.step), plan.ranks(),
                    plan.ranks() == 1 ? "GPU" : "GPUs", result_.simulations),
        "elasticity: % of step time per % of the value; two numbers where smaller and larger "
        "values "
        "differ"};
    add_parts(parts_, result_.step, section.notes);
    if (ranges_) {
      section.notes.push_back(fmt::format(
          "it holds from .. to: there the step is linear in the value of a duration and in 1/value "
          "of a rate, simulated within 1e-6 at both ends; * up to {:.4g} times less or more, where "
          "the search ends",
          result_.limit));
      section.notes.emplace_back(
          "knee: the value beyond which all that is better brings less than 0.1 % of the step");
    }
    if (const auto money = money_note()) section.notes.push_back(*money);
    std::vector<std::string> without;
    for (const FigureSensitivity& each : result_.figures) {
      if (whole_ || has_effect(each))
        section.rows.push_back(figure_row(each));
      else
        without.push_back(each.figure.name);
    }
    add_memory(section);
    if (!without.empty())
      section.closing = {fmt::format("without effect: {}", fmt::join(without, ", "))};
    out_.sections.push_back(std::move(section));
  }

  [[nodiscard]] std::vector<Cell> figure_row(const FigureSensitivity& each) const {
    const Figure& figure = each.figure;
    std::vector<Cell> out = row("figure", figure.name);
    const std::string range = figure.most > figure.value
                                  ? fmt::format("{} to {}", value_text(figure, figure.value),
                                                value_text(figure, figure.most))
                                  : value_text(figure, figure.value);
    set(out, "value", Cell{figure.value, range});
    set(out, "unit", Cell{std::string{unit_name(figure.unit)}});
    set(out, "elasticity", elasticity_cell(each.lower.elasticity, each.upper.elasticity));
    set(out, "elasticity_below", Cell{each.lower.elasticity});
    set(out, "elasticity_above", Cell{each.upper.elasticity});
    if (!ranges_) return out;
    set(out, "range_from", value_cell(figure, each.lower.factor, each.lower.open));
    set(out, "range_to", value_cell(figure, each.upper.factor, each.upper.open));
    set(out, "range_from_open", Cell{each.lower.open});
    set(out, "range_to_open", Cell{each.upper.open});
    set(out, "step_at_from_s", time(each.lower.end));
    set(out, "step_at_to_s", time(each.upper.end));
    if (const auto text = uses_text(each.lower); !text.empty())
      set(out, "change_below", Cell{text});
    if (const auto text = uses_text(each.upper); !text.empty())
      set(out, "change_above", Cell{text});
    if (each.knee) set(out, "knee", value_cell(figure, *each.knee));
    set(out, "best_step_s", time(each.best));
    set(out, "best_change_fraction", change(each.best));
    return out;
  }

  /// The step does not depend on it as long as the layout fits.
  void add_memory(Section& section) const {
    const RankMemory& memory = result_.step.memory;
    if (!memory.capacity || !ranges_) return;
    std::vector<Cell> out = row("figure", "memory size");
    const auto size = [](Bytes of) { return Cell{of.count(), to_string(of)}; };
    set(out, "value", size(*memory.capacity));
    set(out, "unit", Cell{std::string{"B"}});
    set(out, "elasticity", elasticity_cell(0, 0));
    set(out, "range_from", size(memory.needed()));
    set(out, "knee", size(memory.needed()));
    set(out, "best_step_s", time(result_.step.throughput.step));
    set(out, "best_change_fraction", Cell{0.0, "0"});
    section.rows.push_back(std::move(out));
  }

  [[nodiscard]] std::optional<std::string> money_note() const {
    const ScenarioCluster& cluster = result_.step.scenario.cluster;
    const auto price = cluster.costs.usd_per_gpu_hour ? cluster.costs.usd_per_gpu_hour
                                                      : cluster.device.usd_per_hour;
    if (!price) return std::nullopt;
    const double day = *price * result_.step.scenario.parallel.ranks() * kHoursPerDay;
    const Throughput& rate = result_.step.throughput;
    if (!rate.gpu_hours) return fmt::format("1 % of the step time costs {:.2f} $ a day", day / 100);
    return fmt::format("1 % of the step time costs {:.0f} $ of the whole training",
                       *price * *rate.gpu_hours / 100);
  }

  void add_layout() {
    if (result_.layout.empty()) return;
    Section section;
    section.notes = {"layout: the next values of each key, the fastest first"};
    std::size_t impossible = 0;
    for (const LayoutStep& each : result_.layout) {
      std::vector<Cell> out = row("layout", set_options(each.change));
      if (each.step) {
        set(out, "step_time_s", time(*each.step));
        set(out, "change_fraction", change(*each.step));
        set(out, "memory_fit", Cell{to_string(each.fit)});
      } else {
        ++impossible;
        set(out, "memory_fit", Cell{std::string{"impossible"}});
        set(out, "problem", Cell{each.problem});
      }
      section.rows.push_back(std::move(out));
    }
    if (impossible > 0) section.closing = {"impossible: --wide prints why"};
    out_.sections.push_back(std::move(section));
  }

  void add_spreads() {
    if (result_.spreads.empty()) return;
    Section section;
    section.notes = {spread_note()};
    const double widest = (result_.spreads.front().high - result_.spreads.front().low).seconds();
    for (const SpreadEffect& each : result_.spreads) {
      std::vector<Cell> out = row("spread", result_.figures[each.figure].figure.name);
      const double swing = (each.high - each.low).seconds();
      set(out, "spread_fraction", Cell{each.spread, fmt::format("{:.1f}", 100 * each.spread)});
      if (each.rows > 0) set(out, "spread_rows", Cell{each.rows});
      set(out, "low_step_s", time(each.low));
      set(out, "high_step_s", time(each.high));
      set(out, "swing_fraction", Cell{swing / step(), fmt::format("{:.2f}", 100 * swing / step())});
      const auto bars = widest > 0 ? std::llround(kBarWidth * swing / widest) : 0;
      set(out, "bar", Cell{std::string(static_cast<std::size_t>(bars), '#')});
      section.rows.push_back(std::move(out));
    }
    if (const std::string text = without_spread(); !text.empty()) section.closing = {text};
    out_.sections.push_back(std::move(section));
  }

  [[nodiscard]] std::string without_spread() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < result_.figures.size(); ++i) {
      const auto is_it = [i](const SpreadEffect& each) { return each.figure == i; };
      if (has_effect(result_.figures[i]) && std::ranges::none_of(result_.spreads, is_it))
        names.push_back(result_.figures[i].figure.name);
    }
    return names.empty() ? "" : fmt::format("no spread is known of {}", fmt::join(names, ", "));
  }

  [[nodiscard]] std::string spread_note() const {
    const std::string& first = result_.figures[result_.spreads.front().figure].figure.name;
    const auto& confidence = result_.step.confidence;
    std::string out = fmt::format(
        "spread of the calibration (errors of validated rows), one parameter at a time: {} "
        "dominates",
        first);
    if (confidence)
      out += fmt::format("; the prediction interval of the step is {} to {}{}",
                         to_string(confidence->low), to_string(confidence->high),
                         confidence->extrapolated() ? ", wider as the step is extrapolated" : "");
    return out;
  }

  const SensitivityResult& result_;
  std::string parts_;
  bool ranges_;
  bool whole_;
  Report out_;
};

}  // namespace

std::string render_sensitivity(const SensitivityResult& result, const std::string& parts,
                               bool ranges, const OutputStyle& style) {
  const bool data = style.format == Format::json || style.format == Format::csv;
  const Report all = SensitivityReport{result, parts, ranges, data}.make();
  if (data) return render(all, style);
  std::string out;
  for (const Section& section : all.sections) out += render(alone(all, section), style);
  return out;
}

Report sensitivity_report(const SensitivityResult& result, const std::string& parts, bool ranges) {
  Report out = SensitivityReport{result, parts, ranges, false}.make();
  // A page has the tornado chart as a figure, not as letters.
  const auto bar = std::ranges::find(out.columns, "bar", &Column::key);
  const auto at = bar - out.columns.begin();
  out.columns.erase(bar);
  for (Section& section : out.sections)
    for (auto& row : section.rows)
      if (at < std::ssize(row)) row.erase(row.begin() + at);
  return out;
}

Report found_value_report(const FoundValue& found, const std::string& parts,
                          const std::string& condition) {
  Report out;
  out.schema = "lockstep.sensitivity.find/1";
  out.config = json_text(found.now.scenario.resolved);
  out.seed = found.now.scenario.seed;
  out.fingerprint = fingerprint_of_run(found.now);
  out.columns = {{"name", "parameter", {}, true},
                 {"value", "value", {}, false},
                 {"unit", {}, {}, true},
                 {"found", "found", {}, false},
                 {"factor", "factor", {}, false},
                 {"step_time_s", "step now", {}, false},
                 {"found_step_s", "step then", {}, false}};
  const Figure& figure = found.figure;
  const bool rate = figure.is_rate();
  Section section;
  if (!found.factor)
    section.notes = {fmt::format("no {} makes {}: at {} the step is {}", figure.name, condition,
                                 value_text(figure, figure.value * found.tried),
                                 to_string(found.at->throughput.step))};
  else if (found.any)
    section.notes = {fmt::format("even a {} of {} is enough for {}", figure.name,
                                 value_text(figure, figure.value * found.tried), condition)};
  else
    section.notes = {
        fmt::format("the {} {} for {}", rate ? "least" : "longest", figure.name, condition)};
  add_parts(parts, found.now, section.notes);
  const auto step = [](const TrainingStepResult& of) {
    return Cell{of.throughput.step.seconds(), to_string(of.throughput.step)};
  };
  section.rows.push_back(
      {Cell{figure.name}, value_cell(figure, 1), Cell{std::string{unit_name(figure.unit)}},
       found.factor ? value_cell(figure, *found.factor) : Cell{},
       found.factor ? Cell{*found.factor, fmt::format("{:.4g}", *found.factor)} : Cell{},
       step(found.now), found.at ? step(*found.at) : Cell{}});
  out.sections.push_back(std::move(section));
  out.more.emplace_back("condition", Json(condition).dump());
  out.more.emplace_back("simulations", std::to_string(found.simulations));
  add_parts_json(parts, found.now, out);
  return out;
}

}  // namespace lockstep::cli
