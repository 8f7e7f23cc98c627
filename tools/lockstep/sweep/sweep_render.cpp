#include "tools/lockstep/sweep/sweep_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/base/outer_spaces.hpp"
#include "tools/app/shell_word.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/run/run_json.hpp"
#include "tools/lockstep/run/run_row.hpp"

namespace lockstep::cli {

namespace {

constexpr double kGib = 1073741824.0;
constexpr std::size_t kStateWidth = 60;
constexpr std::size_t kDrawnShown = 4;
constexpr std::size_t kDrawnWidth = 34;

/// A value of an axis; whole numbers are numbers.
Cell axis_cell(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return Cell{number};
  return Cell{text};
}

Cell shown(double value, const char* format) {
  return Cell{value, fmt::format(fmt::runtime(format), value)};
}

const std::vector<Column>& table_columns() {
  static const std::vector<Column> columns{
      {"dp", "dp", {}, false},
      {"step_time_s", "step time", "s", false},
      {"tokens_per_s", "tokens/s", {}, false},
      {"mfu_fraction", "MFU", "%", false},
      {"exposed_fraction", "exposed comm.", "% of step", false},
      {"bubble_fraction", "bubble", "% of step", false},
      {"peak_memory_bytes", "peak memory", "GiB", false},
      {"memory_margin_bytes", "margin", "GiB", false},
  };
  return columns;
}

/// "cluster.nodes" as heading: "nodes".
std::string short_key(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

const RankMemory* memory_of(const VariantResult& step) {
  if (step.result) return &step.result->memory;
  return step.shortfall ? &step.shortfall->memory : nullptr;
}

const Scenario* scenario_of(const VariantResult& step) {
  if (step.result) return &step.result->scenario;
  return step.shortfall ? step.shortfall->scenario.get() : nullptr;
}

}  // namespace

std::vector<Cell> SweepRows::table_cells(const SweepRow& row) {
  const auto percent = [](const std::optional<double>& share) {
    return share ? Cell{*share, fmt::format("{:.1f}", 100 * *share)} : Cell{};
  };
  const auto gib = [](const std::optional<std::int64_t>& bytes) {
    return bytes ? Cell{*bytes, fmt::format("{:.2f}", static_cast<double>(*bytes) / kGib)} : Cell{};
  };
  if (!row.dp && !row.memory) return {};
  return {row.dp ? Cell{*row.dp} : Cell{},
          row.step_s ? shown(*row.step_s, *row.step_s < 0.1 ? "{:.4g}" : "{:.3f}") : Cell{},
          row.tokens_per_s ? shown(*row.tokens_per_s, "{:.0f}") : Cell{},
          percent(row.mfu),
          percent(row.exposed),
          percent(row.bubble),
          gib(row.memory),
          gib(row.margin)};
}

std::vector<Cell> SweepRows::data_cells(const SweepPoint& point) {
  const RankMemory* memory = memory_of(point.step);
  if (memory == nullptr) return {};
  RunOptions options = options_;
  options.step.overrides = point.step.overrides;
  Report report = report_of_rows(
      options,
      {{{}, scenario_of(point.step), memory, point.step.result ? &*point.step.result : nullptr}});
  if (columns_.empty()) columns_ = std::move(report.columns);
  return std::move(report.sections.front().rows.front());
}

void SweepRows::add(const SweepPoint& point) {
  std::vector<Cell> axes;
  for (const std::string& value : point.values) axes.push_back(axis_cell(value));
  axes_.push_back(std::move(axes));
  cells_.push_back(table_ ? table_cells(point.row) : data_cells(point));
  states_.push_back(state_of(point.row));
  fingerprint_.add(point.row.step_ps.value_or(0));
  add_draws(point);
}

void SweepRows::add_draws(const SweepPoint& point) {
  Draws& out = draws_.emplace_back();
  if (!point.row.draws) return;
  const app::SweepDraws& of = *point.row.draws;
  ++steps_;
  if (of.fidelity == Fidelity::representatives) ++representatives_;
  if (!seed_) seed_ = of.seed;
  if (of.ranks.empty()) return;
  const DrawnRanks drawn{of.ranks, of.speeds, static_cast<int>(of.of), of.seed};
  out = {drawn_list(drawn), drawn_line(drawn), drawn_json(drawn), drawn_list(drawn, kDrawnShown)};
}

bool SweepRows::draws() const {
  return std::ranges::any_of(draws_, [](const Draws& each) { return !each.line.empty(); });
}

bool SweepRows::draws_differ() const {
  const auto first =
      std::ranges::find_if(draws_, [](const Draws& each) { return !each.line.empty(); });
  return std::any_of(first, draws_.end(), [&](const Draws& each) {
    return !each.line.empty() && (each.line != first->line || each.list != first->list);
  });
}

std::vector<std::string> SweepRows::notes(const SweepResult& result) const {
  std::vector<std::string> out{
      fmt::format("{}: {} point{}, {} simulated, {} do not fit, {} impossible{}", result.name,
                  result.points, result.points == 1 ? "" : "s", result.simulated, result.misfits,
                  result.impossible, result.complete ? "" : "; interrupted")};
  std::string changes = changes_of(options_);
  for (const std::string& each : fixed_) changes += " --fix " + app::shell_word(each);
  if (!changes.empty()) out.push_back("with " + std::string{without_outer_spaces(changes)});
  if (draws() && !draws_differ())
    out.push_back(
        std::ranges::find_if(draws_, [](const Draws& each) { return !each.line.empty(); })->line);
  if (result.dp_follows)
    out.emplace_back("dp = GPUs / (tp * pp * cp); --vary or --set parallel.dp fixes it");
  if (representatives_ > 0)
    out.push_back(
        fmt::format("fidelity representatives at {} of {} simulated points; --fidelity all "
                    "simulates every rank",
                    representatives_, steps_));
  return out;
}

std::string SweepRows::text(const Report& report, const OutputStyle& style) const {
  if (style.format == Format::md) {
    std::string out;
    for (const std::string& note : report.sections.front().notes) out += "- " + note + "\n";
    return out + "\n" + render(report, style);
  }
  if (style.format != Format::json || !draws()) return render(report, style);
  Json out = Json::parse(render(report, Format::json));
  Json rows = Json::array();
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    Json row = out.at("rows").at(i);
    row["drawn_speeds"] = draws_[i].json;
    rows.push_back(std::move(row));
  }
  out["rows"] = std::move(rows);
  return out.dump(2) + "\n";
}

Report SweepRows::report(const SweepResult& result) {
  if (table_) columns_ = table_columns();
  Report out;
  out.schema = "lockstep.sweep/1";
  out.config =
      Json{
          {"scenario", result.name}, {"points", result.points}, {"run", run_options_json(options_)}}
          .dump();
  out.seed = seed_.value_or(0);
  for (const std::string& key : result.axes)
    out.columns.push_back({key, short_key(key), {}, false});
  out.columns.insert(out.columns.end(), columns_.begin(), columns_.end());
  const bool shows_draws = table_ ? draws_differ() : draws();
  if (shows_draws) {
    Column drawn{"drawn_speeds", "drawn ranks", {}, true};
    drawn.most_width = kDrawnWidth;
    out.columns.push_back(drawn);
  }
  Column state{"state", "state", {}, true};
  state.most_width = kStateWidth;
  out.columns.push_back(state);
  out.left_out_first = {"memory_margin_bytes", "bubble_fraction", "exposed_fraction",
                        "tokens_per_s"};
  Section section;
  section.notes = notes(result);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    std::vector<Cell> row = std::move(axes_[i]);
    cells_[i].resize(columns_.size());
    row.insert(row.end(), cells_[i].begin(), cells_[i].end());
    if (shows_draws) row.emplace_back(draws_[i].list, table_ ? draws_[i].shown : std::string{});
    row.emplace_back(states_[i]);
    section.rows.push_back(std::move(row));
  }
  out.sections.push_back(std::move(section));
  out.fingerprint = fingerprint_.text();
  return out;
}

}  // namespace lockstep::cli
