#include "tools/lockstep/plan/plan_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "strategies/layout/scenario_names.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/plan/plan_headline.hpp"

namespace lockstep::cli {

namespace {

/// The number with thousands separators.
std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

std::string overlap_text(const ParallelConfig& parallel) {
  std::vector<std::string_view> names;
  for (const Overlap what : parallel.overlap) names.push_back(name_of(overlap_names(), what));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, "+"));
}

/// "cluster.nodes:parallel.global_batch" as heading: "nodes:global_batch".
std::string short_keys(const std::string& keys) {
  std::string out;
  for (std::size_t begin = 0; begin <= keys.size();) {
    const std::size_t end = std::min(keys.find(':', begin), keys.size());
    const std::string key = keys.substr(begin, end - begin);
    if (begin > 0) out += ":";
    out += key.substr(key.rfind('.') + 1);
    begin = end + 1;
  }
  return out;
}

/// Columns by name, filled row by row.
class Table {
 public:
  explicit Table(Report& report) : report_{report} {}

  void begin() { row_.clear(); }
  void add(const std::string& key, const std::string& heading, Cell cell, const char* unit = "",
           bool left = false) {
    if (report_.sections.back().rows.empty() && first_)
      report_.columns.push_back({key, heading, unit, left});
    row_.push_back(std::move(cell));
  }
  void end() {
    report_.sections.back().rows.push_back(std::move(row_));
    first_ = false;
  }

 private:
  Report& report_;
  std::vector<Cell> row_;
  bool first_ = true;
};

/// A number in the format of `run`: large ones with thousands separators, "10,970".
Cell number(std::optional<double> value, int digits = 4) {
  if (!value) return {};
  const bool large = *value >= std::pow(10, digits);
  return Cell{*value, large ? grouped(static_cast<std::uint64_t>(std::llround(*value)))
                            : fmt::format("{:.{}g}", *value, digits)};
}

Cell gib(std::optional<double> bytes) {
  return bytes
             ? Cell{static_cast<std::int64_t>(*bytes), fmt::format("{:.2f}", *bytes / 1073741824.0)}
             : Cell{};
}

/// "ok", or why a layout of the table was not simulated.
std::string status_of(const PlanRow& row) {
  if (!row.refused.empty()) return "refused: " + row.refused;
  if (row.shortfall)
    return fmt::format("does not fit: {} of {}", to_string(row.shortfall->memory.needed()),
                       to_string(*row.shortfall->memory.capacity));
  return "ok";
}

const ParallelConfig* parallel_of(const PlanRow& row) {
  if (row.step) return &row.step->scenario.parallel;
  if (row.shortfall && row.shortfall->scenario) return &row.shortfall->scenario->parallel;
  return nullptr;
}

std::string extent_words(const PlanResult& result) {
  return result.extent == PlanExtent::shard
             ? fmt::format("shard {} of {}", result.shard + 1, result.shards)
             : "the merged shards";
}

std::string words_of(PlanBaseline baseline) {
  return baseline == PlanBaseline::current_layout ? "current layout" : "plain data parallelism";
}

class PlanReport {
 public:
  explicit PlanReport(const PlanResult& result) : result_{result}, table_{out_} {}

  Report make() {
    out_.schema = "lockstep.plan/1";
    Json config = Json{{"space", result_.space.name}, {"space_hash", result_.space_hash}};
    if (result_.extent != PlanExtent::space) config["part"] = extent_words(result_);
    if (result_.changes.any()) config["run"] = Json::parse(result_.changes.options);
    out_.config = config.dump();
    out_.sections.emplace_back();
    out_.sections.back().notes = headline_of(result_);
    for (const PlanRow& row : result_.rows) add(row);
    for (const PlanRow& row : result_.baselines) add(row);
    out_.sections.back().closing = certificate();
    out_.left_out_first = left_out_first();
    add_json();
    return std::move(out_);
  }

 private:
  /// On a narrow terminal. Keys of the layout in which the layouts found differ go last, so that no
  /// two of them look the same.
  [[nodiscard]] std::vector<std::string> left_out_first() const {
    std::vector<std::string> out{"index",
                                 "hfu_fraction",
                                 "energy_kwh",
                                 "exposed_communication_s",
                                 "bubble_s",
                                 "lower_bound_s",
                                 "gpus",
                                 "regime",
                                 "status",
                                 "memory_margin_bytes",
                                 "tokens_per_s_per_gpu"};
    std::vector<std::string> differing{"usd"};
    for (const char* key : {"sequence_parallel", "recompute", "etp", "ep", "vpp", "schedule",
                            "overlap", "cp", "micro_batch", "zero", "pp"})
      (found_differ_in(key) ? differing : out).emplace_back(key);
    out.insert(out.end(), differing.begin(), differing.end());
    return out;
  }

  [[nodiscard]] bool found_differ_in(std::string_view key) const {
    const auto column = std::find_if(out_.columns.begin(), out_.columns.end(),
                                     [key](const auto& each) { return each.key == key; });
    const auto& rows = out_.sections.back().rows;
    const auto at = static_cast<std::size_t>(column - out_.columns.begin());
    for (std::size_t i = 1; i < result_.rows.size(); ++i)
      if (rows[i][at].value != rows[0][at].value) return true;
    return false;
  }

  /// The heading of a column, empty (so that tables omit it) if no layout has the metric.
  [[nodiscard]] std::string heading_of(PlanMetric metric, const char* heading) const {
    const auto has = [metric](const PlanRow& row) { return metric_of(row, metric).has_value(); };
    const bool any = std::any_of(result_.rows.begin(), result_.rows.end(), has) ||
                     std::any_of(result_.baselines.begin(), result_.baselines.end(), has);
    return any ? heading : "";
  }

  void add(const PlanRow& row) {
    const ParallelConfig* parallel = parallel_of(row);
    table_.begin();
    const std::string label = words_of(row.baseline);
    table_.add(
        "rank", "rank",
        row.rank > 0 ? Cell{static_cast<std::int64_t>(row.rank)} : Cell{label, short_label(label)},
        "", true);
    const auto degree = [&](const char* key, auto member) {
      table_.add(key, key, parallel != nullptr ? Cell{std::int64_t{parallel->*member}} : Cell{});
    };
    degree("tp", &ParallelConfig::tp);
    degree("pp", &ParallelConfig::pp);
    degree("vpp", &ParallelConfig::vpp);
    degree("cp", &ParallelConfig::cp);
    degree("ep", &ParallelConfig::ep);
    const bool folds = parallel != nullptr && parallel->etp > 0;
    table_.add("etp", "etp", folds ? Cell{std::int64_t{parallel->etp}} : Cell{});
    degree("dp", &ParallelConfig::dp);
    degree("zero", &ParallelConfig::zero);
    table_.add("micro_batch", "mb", parallel != nullptr ? Cell{parallel->micro_batch} : Cell{});
    const auto name = [&](const char* key, const char* heading, std::string text) {
      table_.add(key, heading, parallel != nullptr ? Cell{std::move(text)} : Cell{}, "", true);
    };
    const ParallelConfig plain;
    const ParallelConfig& of = parallel != nullptr ? *parallel : plain;
    name("schedule", "schedule", std::string{name_of(pipeline_names(), of.schedule)});
    name("recompute", "recompute", recompute_text(of));
    table_.add("sequence_parallel", "sp", parallel != nullptr ? Cell{of.sequence_parallel} : Cell{},
               "", true);
    name("overlap", "overlap", overlap_text(of));
    for (const LayoutColumn& column : layout_columns())
      table_.add(column.key, differ(column) ? column.key : "",
                 parallel != nullptr ? column.cell(of) : Cell{}, "", true);
    add_setting(row);
    add_times(row);
    table_.add("regime", "limited by", row.step ? Cell{row.regime} : Cell{}, "", true);
    table_.add("status", "status", Cell{status_of(row)}, "", true);
    table_.add("index", "index",
               row.rank > 0 ? Cell{static_cast<std::int64_t>(row.index)} : Cell{});
    table_.end();
  }

  /// Of a baseline, for a narrow column.
  [[nodiscard]] static std::string short_label(const std::string& label) {
    if (label == "plain data parallelism") return "plain DP";
    return label == "current layout" ? "current" : label;
  }

  /// What layouts seldom differ in: tables show what does.
  struct LayoutColumn {
    const char* key;
    Cell (*cell)(const ParallelConfig&);
  };
  static const std::vector<LayoutColumn>& layout_columns() {
    using Config = ParallelConfig;
    static const std::vector<LayoutColumn> all{
        {"cp_kind",
         [](const Config& of) { return Cell{std::string{name_of(context_names(), of.cp_kind)}}; }},
        {"shard_ranks", [](const Config& of) { return Cell{std::int64_t{of.shard_ranks}}; }},
        {"short_edges", [](const Config& of) { return Cell{of.short_edges}; }},
        {"offload", [](const Config& of) { return Cell{of.state.offload}; }},
        {"delay_wgrad_compute", [](const Config& of) { return Cell{of.delay_wgrad_compute}; }},
        {"order",
         [](const Config& of) { return Cell{fmt::format("{}", fmt::join(of.order, "-"))}; }},
    };
    return all;
  }
  [[nodiscard]] bool differ(const LayoutColumn& column) const {
    std::optional<Cell> first;
    for (const PlanRow& row : result_.rows) {
      const ParallelConfig* of = parallel_of(row);
      if (of == nullptr) continue;
      const Cell cell = column.cell(*of);
      if (first && cell.value != first->value) return true;
      first = cell;
    }
    return false;
  }

  /// The values of other keys than the layout's, such as cluster.nodes.
  void add_setting(const PlanRow& row) {
    const std::vector<SettingAxis>& axes = result_.space.settings;
    const std::vector<std::size_t> digits =
        result_.space.setting_digits(row.index / result_.space.layout_count());
    for (std::size_t i = 0; i < axes.size(); ++i)
      table_.add(axes[i].key, short_keys(axes[i].key), Cell{axes[i].values[digits[i]]}, "", true);
  }

  void add_times(const PlanRow& row) {
    const TrainingStepResult* step = row.step ? &*row.step : nullptr;
    const auto of = [&](auto value) -> std::optional<double> {
      if (step == nullptr) return std::nullopt;
      return value(*step);
    };
    using Step = TrainingStepResult;
    table_.add("step_time_s", "step", number(of([](const Step& s) { return s.throughput.step_s; })),
               "s");
    const bool interval = step != nullptr && step->confidence.has_value();
    if (result_.changes.of_parts()) add_unchanged(row);
    table_.add("step_time_low_s", "", interval ? Cell{step->confidence->low.seconds()} : Cell{});
    table_.add("step_time_high_s", "", interval ? Cell{step->confidence->high.seconds()} : Cell{});
    table_.add("tokens_per_s_per_gpu", "per GPU",
               number(metric_of(row, PlanMetric::tokens_per_s_per_gpu)), "tokens/s");
    const auto mfu = metric_of(row, PlanMetric::mfu);
    table_.add("mfu_fraction", "MFU", mfu ? Cell{*mfu, fmt::format("{:.1f}", 100 * *mfu)} : Cell{},
               "%");
    const auto hfu = step != nullptr ? step->throughput.hfu() : std::nullopt;
    table_.add("hfu_fraction", "HFU", hfu ? Cell{*hfu, fmt::format("{:.1f}", 100 * *hfu)} : Cell{},
               "%");
    table_.add(
        "exposed_communication_s", "exposed",
        number(of([](const Step& s) { return s.summary.busiest.exposed_total().seconds(); }), 3),
        "s");
    table_.add("bubble_s", "bubble",
               number(of([](const Step& s) { return s.summary.busiest.bubble.seconds(); }), 3),
               "s");
    std::optional<double> memory = metric_of(row, PlanMetric::memory);
    if (row.shortfall) memory = static_cast<double>(row.shortfall->memory.needed().count());
    table_.add("peak_memory_bytes", "memory", gib(memory), "GiB");
    table_.add("memory_margin_bytes", "margin", gib(metric_of(row, PlanMetric::memory_margin)),
               "GiB");
    table_.add("days", heading_of(PlanMetric::days, "days"),
               number(metric_of(row, PlanMetric::days)));
    table_.add("gpu_hours", "", number(metric_of(row, PlanMetric::gpu_hours)));
    table_.add("usd", heading_of(PlanMetric::usd, "cost"), number(metric_of(row, PlanMetric::usd)),
               "$");
    table_.add("energy_kwh", heading_of(PlanMetric::energy, "energy"),
               number(metric_of(row, PlanMetric::energy)), "kWh");
    table_.add("gpus", "GPUs", number(metric_of(row, PlanMetric::gpus), 8));
    table_.add("lower_bound_s", "bound", row.rank > 0 ? number(row.bound_s) : Cell{}, "s");
  }

  /// The step without slow ranks and changed links, and what these add to it.
  void add_unchanged(const PlanRow& row) {
    const auto base = row.unchanged ? std::optional{row.unchanged->seconds()} : std::nullopt;
    table_.add("unchanged_step_time_s", "unchanged", number(base), "s");
    const double slower = base ? row.step->throughput.step_s / *base - 1 : 0;
    table_.add("slower_fraction", "slower",
               base ? Cell{slower, fmt::format("{:+.2f}", 100 * slower)} : Cell{}, "%");
  }

  std::vector<std::string> certificate() const {
    const SearchCertificate& of = result_.certificate;
    std::vector<std::string> out;
    for (const PlanRow& row : result_.baselines)
      if (!row.step) out.push_back(fmt::format("{}: {}", words_of(row.baseline), status_of(row)));
    out.emplace_back();
    out.push_back(result_.extent == PlanExtent::space
                      ? fmt::format("{} points in the space", grouped(of.points))
                      : fmt::format("{} points in {}, of {} in the space", grouped(of.points),
                                    extent_words(result_), grouped(result_.space.size())));
    for (std::size_t rule = 0; rule < kPlanRules; ++rule)
      if (of.rules[rule] > 0)
        out.push_back(fmt::format("{:>16}  {}", grouped(of.rules[rule]),
                                  words_of(static_cast<PlanRule>(rule))));
    const auto line = [&](std::uint64_t count, const char* words) {
      if (count > 0) out.push_back(fmt::format("{:>16}  {}", grouped(count), words));
    };
    line(of.memory, "need more memory than a GPU has");
    line(of.limits, "cannot hold --where");
    line(of.bounded, "bounded away: no faster than the layouts found");
    line(of.not_simulated, "deadlock, or too large to simulate");
    line(of.simulated, "simulated");
    line(of.undecided - of.unvisited, "undecided");
    line(of.unvisited, "not bounded: the search ended before");
    out.insert(out.end(), result_.bounds.begin(), result_.bounds.end());
    out.push_back(proof());
    return out;
  }

  std::string where() const {
    return result_.extent == PlanExtent::space ? "this space" : extent_words(result_);
  }

  std::string proof() const {
    if (result_.rows.empty()) return "";
    if (!result_.pareto.empty())
      return result_.complete ? fmt::format(
                                    "no layout in {} is better in one of these metrics and "
                                    "as good in the others",
                                    where())
                              : "not all points are decided: the front may not be complete";
    const MetricInfo& objective = result_.objective;
    const auto best = metric_of(result_.rows.front(), objective.metric);
    const std::string value = best ? metric_text(objective, *best) : "";
    const auto& open = result_.certificate.open_bound;
    if (result_.certificate.unvisited > 0)
      return fmt::format("{} of the points are not bounded: one of them may be better",
                         grouped(result_.certificate.unvisited));
    if (result_.complete || !open)
      return fmt::format("proof: no layout in {} has a better {} than {}", where(), objective.name,
                         value);
    const double from = objective.less_is_better ? *best : -*best;
    return fmt::format("{} {}; none in {} can be more than {:.2g} % better", objective.name, value,
                       where(), 100 * std::max(0.0, std::abs(from - *open) / std::abs(from)));
  }

  void add_json() {
    const SearchCertificate& of = result_.certificate;
    Json rules = Json::object();
    for (std::size_t rule = 0; rule < kPlanRules; ++rule)
      rules[to_string(static_cast<PlanRule>(rule))] = of.rules[rule];
    Json certificate = Json::object();
    certificate["points"] = of.points;
    certificate["dropped_by_rule"] = rules;
    certificate["dropped_by_memory"] = of.memory;
    certificate["dropped_by_limits"] = of.limits;
    certificate["bounded_away"] = of.bounded;
    certificate["simulated"] = of.simulated;
    certificate["not_simulated"] = of.not_simulated;
    certificate["undecided"] = of.undecided;
    certificate["not_bounded"] = of.unvisited;
    certificate["complete"] = result_.complete;
    certificate["objective"] = std::string{result_.objective.name};
    out_.more.emplace_back("certificate", certificate.dump());
    Json overrides = Json::array();
    for (const PlanRow& row : result_.rows) overrides.push_back(Json{row.overrides});
    out_.more.emplace_back("overrides", overrides.dump());
    Fingerprint fingerprint;
    for (const PlanRow& row : result_.rows)
      fingerprint.add(row.step ? row.step->throughput.step.ps() : 0);
    out_.fingerprint = fingerprint.text();
    const PlanRow* first = result_.rows.empty() ? nullptr : &result_.rows.front();
    const bool found = first != nullptr && first->step;
    out_.seed = found ? first->step->scenario.seed : kDefaultSeed;
    if (found && result_.changes.of_parts())
      out_.more.emplace_back("drawn_speeds", drawn_json(drawn_ranks_of(*first->step)).dump());
  }

  const PlanResult& result_;
  Report out_;
  Table table_;
};

/// The report of `--explain`: one layout.
class ExplanationReport {
 public:
  explicit ExplanationReport(const PlanResult& result)
      : result_{result}, of_{*result.explanation} {}

  Report make() {
    PlanResult shown{result_.space, result_.space_hash, {}, {}, {}, {}, {},
                     true,          result_.objective,  {}, {}, {}};
    if (of_.row) shown.rows.push_back(*of_.row);
    if (!of_.row && of_.nearest) shown.rows.push_back(*of_.nearest);
    shown.changes = result_.changes;
    for (PlanRow& row : shown.rows) row.rank = 1;
    Report out = PlanReport{shown}.make();
    out.sections.back().notes = notes();
    out.sections.back().closing.clear();
    out.more.clear();
    return out;
  }

 private:
  std::vector<std::string> notes() const {
    std::vector<std::string> out{
        fmt::format("{}: {} points of the space", of_.asked, grouped(of_.points))};
    if (!result_.changes.text.empty()) out.push_back("with " + result_.changes.text);
    if (of_.row) {
      out.emplace_back("the fastest of them:");
      return out;
    }
    out.emplace_back("none of them is a layout that fits:");
    for (std::size_t rule = 0; rule < kPlanRules; ++rule)
      if (of_.rules[rule] > 0)
        out.push_back(fmt::format("{:>12}  {} ({})", grouped(of_.rules[rule]),
                                  words_of(static_cast<PlanRule>(rule)),
                                  to_string(static_cast<PlanRule>(rule))));
    if (of_.memory > 0) {
      std::string text =
          fmt::format("{:>12}  need more memory than a GPU has", grouped(of_.memory));
      if (of_.least_memory && of_.capacity) {
        const double need = static_cast<double>(of_.least_memory->count());
        const double have = static_cast<double>(of_.capacity->count());
        text += fmt::format(": at least {:.2f} GiB of {:.2f} GiB", need / 1073741824.0,
                            have / 1073741824.0);
        if (need > have) text += fmt::format(", {:.2f} GiB too much", (need - have) / 1073741824.0);
      }
      out.push_back(text);
    }
    if (of_.limits > 0)
      out.push_back(fmt::format("{:>12}  cannot hold --where", grouped(of_.limits)));
    if (of_.nearest)
      out.push_back(fmt::format("nearest layout that fits, with another {}:",
                                fmt::join(of_.changed, " and ")));
    else
      out.emplace_back("no layout that differs in one or two of these keys fits");
    return out;
  }

  const PlanResult& result_;
  const PlanExplanation& of_;
};

}  // namespace

std::string layout_text(const ParallelConfig& parallel) {
  std::string out = fmt::format("tp {}", parallel.tp);
  if (parallel.sequence_parallel) out += " with sequence parallelism";
  out += fmt::format(", pp {}", parallel.pp);
  if (parallel.pp > 1) {
    out += fmt::format(" ({}", name_of(pipeline_names(), parallel.schedule));
    if (parallel.vpp > 1) out += fmt::format(", {} chunks", parallel.vpp);
    if (parallel.short_edges) out += ", short edges";
    out += ")";
  }
  if (parallel.cp > 1)
    out += fmt::format(", cp {} ({})", parallel.cp, name_of(context_names(), parallel.cp_kind));
  if (parallel.ep > 1) out += fmt::format(", ep {}", parallel.ep);
  if (parallel.etp > 0) out += fmt::format(", etp {}", parallel.etp);
  out += fmt::format(", dp {}, ZeRO-{}", parallel.dp, parallel.zero);
  if (parallel.shard_ranks > 0) out += fmt::format(" over {} ranks", parallel.shard_ranks);
  out += fmt::format(", micro-batch {}", parallel.micro_batch);
  if (parallel.recompute != Recompute::none)
    out += fmt::format(", recompute {}", recompute_text(parallel));
  if (parallel.state.offload) out += ", optimizer offloaded";
  out += fmt::format(", overlap {}", overlap_text(parallel));
  if (parallel.delay_wgrad_compute) out += " with delayed weight gradients";
  if (parallel.order != ParallelConfig{}.order)
    out += fmt::format(", ranks {}", fmt::join(parallel.order, "-"));
  return out;
}

Report report_of(const PlanResult& result) {
  if (result.explanation) return ExplanationReport{result}.make();
  return PlanReport{result}.make();
}

}  // namespace lockstep::cli
