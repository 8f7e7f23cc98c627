#include "tools/lockstep/plan/plan_figures.hpp"

#include "tools/lockstep/output/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tools/figures/bar_figure.hpp"
#include "tools/figures/heat_figure.hpp"
#include "tools/figures/scatter_figure.hpp"
#include "tools/lockstep/plan/plan_render.hpp"
#include "tools/lockstep/run/text/aligned.hpp"

namespace lockstep::cli {

namespace {

figures::Unit unit_of(PlanMetric metric) {
  switch (metric) {
    case PlanMetric::step_time:
      return figures::Unit::seconds;
    case PlanMetric::memory:
    case PlanMetric::memory_margin:
      return figures::Unit::bytes;
    case PlanMetric::mfu:
      return figures::Unit::share;
    default:
      return figures::Unit::count;
  }
}

std::string words_of(const MetricInfo& info) {
  switch (info.metric) {
    case PlanMetric::step_time:
      return "step time";
    case PlanMetric::mfu:
      return "MFU";
    case PlanMetric::memory:
      return "peak memory of a GPU";
    case PlanMetric::memory_margin:
      return "free memory of a GPU";
    case PlanMetric::tokens_per_s_per_gpu:
      return "tokens/s per GPU";
    case PlanMetric::usd:
      return "cost";
    case PlanMetric::gpu_hours:
      return "GPU hours";
    case PlanMetric::gpus:
      return "GPUs";
    default:
      return std::string{info.name};
  }
}

std::string value_text(const MetricInfo& info, double value) {
  const figures::Unit unit = unit_of(info.metric);
  if (unit != figures::Unit::count) return figures::value_text(value, unit, 3);
  const std::string number = value >= 1e6 ? fmt::format("{:.4g} M", value / 1e6)
                                          : fmt::format("{:.{}f}", value, value < 100 ? 2 : 0);
  if (info.metric == PlanMetric::gpus) return fmt::format("{:.0f} GPUs", value);
  if (info.metric == PlanMetric::usd) return "$" + number;
  return info.unit.empty() ? number : fmt::format("{} {}", number, info.unit);
}

std::string axis_label(const MetricInfo& info) {
  const bool plain =
      unit_of(info.metric) == figures::Unit::count && !info.unit.empty() && info.unit != info.name;
  std::string words = words_of(info);
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return fmt::format("{}{} ({} is better)", words, plain ? fmt::format(", {}", info.unit) : "",
                     info.less_is_better ? "less" : "more");
}

std::optional<double> metric_of(const PlanResult& result, std::size_t layout, PlanMetric metric) {
  return result.simulated_metrics[layout][static_cast<std::size_t>(metric)];
}

/// Title and details common to all figures. Throws Refusal if no layout was found.
figures::Heading heading_of(const PlanResult& result, std::string title) {
  figures::Heading out{std::move(title), {}};
  if (result.rows.empty() || !result.rows.front().step)
    throw Refusal("--plot: no layout was found that could be drawn");
  const Scenario& scenario = result.rows.front().step->scenario;
  out.details.push_back(fmt::format("{} on {} x {}, global batch {}", scenario.model.name,
                                    scenario.parallel.ranks(), scenario.cluster.device.id,
                                    scenario.parallel.global_batch));
  return out;
}

/// "ZeRO-1", "8 chunks", "order tp-cp-pp-dp": as the headline has them.
std::string value_words(LayoutKey key, const std::string& value) {
  switch (key) {
    case LayoutKey::zero:
      return "ZeRO-" + value;
    case LayoutKey::micro_batch:
      return "micro-batch " + value;
    case LayoutKey::vpp:
      return value + " chunks";
    case LayoutKey::schedule:
      return value;
    case LayoutKey::shard_ranks:
      return fmt::format("shards over {} ranks", value);
    case LayoutKey::sequence_parallel:
      return value == "true" ? "sequence parallelism" : "no sequence parallelism";
    case LayoutKey::offload:
      return value == "true" ? "optimizer offloaded" : "no offload";
    case LayoutKey::delay_wgrad_compute:
      return value == "true" ? "weight gradients delayed" : "no delayed weight gradients";
    default:
      return fmt::format("{} {}", to_string(key), value);
  }
}

/// tp, pp, and the keys whose value is not the first of their axis.
std::string digits_text(const PlanResult& result, std::uint64_t index) {
  const auto numbers = result.space.digits(index);
  std::string out;
  for (std::size_t i = 0; i < kLayoutKeys; ++i) {
    const LayoutAxis& axis = result.space.layout[i];
    const auto at = std::find_if(axis.values.begin(), axis.values.end(),
                                 [&](const LayoutValue& of) { return of.number == numbers[i]; });
    const bool always = axis.key == LayoutKey::tp || axis.key == LayoutKey::pp;
    if (at == axis.values.end() || (at == axis.values.begin() && !always)) continue;
    out += (out.empty() ? "" : ", ") + value_words(axis.key, at->text);
  }
  return out;
}

class FrontFigure {
 public:
  explicit FrontFigure(const PlanResult& result) : result_{result} {
    metrics_ = result.pareto;
    if (metrics_.empty()) metrics_ = {metric(PlanMetric::step_time), metric(PlanMetric::memory)};
  }

  std::string draw(const figures::FigureStyle& style) const {
    const MetricInfo& y = metrics_[0];
    const MetricInfo& x = metrics_[1];
    figures::ScatterFigure figure;
    figure.heading =
        heading_of(result_, fmt::format("Layouts: {} over {}", words_of(y), words_of(x)));
    figure.x = {axis_label(x), unit_of(x.metric), false};
    figure.y = {axis_label(y), unit_of(y.metric), false};
    figure.marked_name =
        metrics_.size() > 2 ? "front (of three metrics)" : "front: none is better in both";
    figure.other_name = "simulated layouts that fit";
    figure.line = metrics_.size() == 2;
    figure.more_x = !x.less_is_better;
    figure.more_y = !y.less_is_better;
    add_points(figure);
    if (result_.pareto.empty())
      figure.notes.emplace_back(
          "The search was for the best layouts alone: others were not simulated. --pareto "
          "step_time,memory finds and proves the whole front.");
    else if (result_.complete)
      figure.notes.emplace_back(
          "Proved: no layout of the space is better in one of these metrics and as good in the "
          "others.");
    return figures::draw(figure, style);
  }

 private:
  static MetricInfo metric(PlanMetric of) {
    for (const MetricInfo& each : plan_metrics())
      if (each.metric == of) return each;
    return plan_metrics().front();
  }

  void add_points(figures::ScatterFigure& figure) const {
    for (std::size_t i = 0; i < result_.simulated.size(); ++i) {
      const SimulatedLayout& layout = result_.simulated[i];
      const auto y = metric_of(result_, i, metrics_[0].metric);
      const auto x = metric_of(result_, i, metrics_[1].metric);
      if (!layout.fits || !layout.holds || !x || !y) continue;
      const bool marked = is_of_front(i);
      figure.points.push_back({{*x, *y}, name_of(layout, *x, *y), marked});
    }
  }

  /// Whether it is on the Pareto front; with one objective, whether it is the best, the first on
  /// ties.
  bool is_of_front(std::size_t i) const {
    for (const PlanRow& row : result_.rows)
      if (!result_.pareto.empty() && row.index == result_.simulated[i].index) return true;
    if (!result_.pareto.empty()) return false;
    for (std::size_t other = 0; other < result_.simulated.size(); ++other)
      if (is_better(other, i)) return false;
    return true;
  }

  bool is_better(std::size_t a, std::size_t b) const {
    const SimulatedLayout& of = result_.simulated[a];
    if (a == b || !of.fits || !of.holds) return false;
    bool same = true;
    for (const MetricInfo& each : metrics_) {
      const double sign = each.less_is_better ? 1 : -1;
      const double left = sign * *metric_of(result_, a, each.metric);
      const double right = sign * *metric_of(result_, b, each.metric);
      if (left > right) return false;
      same = same && left == right;
    }
    return !same || a < b;
  }

  std::string name_of(const SimulatedLayout& layout, double x, double y) const {
    std::string text = digits_text(result_, layout.index);
    for (const PlanRow& row : result_.rows)
      if (row.index == layout.index && row.step) text = layout_text(row.step->scenario.parallel);
    return fmt::format("{}, {}: {}", value_text(metrics_[0], y), value_text(metrics_[1], x), text);
  }

  const PlanResult& result_;
  std::vector<MetricInfo> metrics_;
};

class HeatMap {
 public:
  explicit HeatMap(const PlanResult& result)
      : result_{result},
        metric_{result.pareto.empty() ? result.objective : result.pareto.front()} {}

  std::string draw(const figures::FigureStyle& style) {
    figures::HeatFigure figure;
    figure.heading = heading_of(
        result_, fmt::format("Best {} by tensor and pipeline parallelism", words_of(metric_)));
    setting_ = static_cast<std::size_t>(result_.rows.front().index / result_.space.layout_count());
    const auto overrides = result_.space.setting_overrides(setting_);
    if (!overrides.empty())
      figure.heading.details.push_back(fmt::format("with {}", fmt::join(overrides, ", ")));
    figure.row_label = "tp";
    figure.column_label = "pp";
    for (const LayoutValue& each : result_.space.axis(LayoutKey::tp).values)
      figure.rows.push_back(each.text);
    for (const LayoutValue& each : result_.space.axis(LayoutKey::pp).values)
      figure.columns.push_back(each.text);
    figure.found_name = "simulated: the best of the cell";
    figure.bounded_name = fmt::format("not simulated: no layout of the cell can be {}",
                                      metric_.less_is_better ? "below this" : "above this");
    figure.refused_name = "no layout, and why";
    find_best();
    for (std::size_t i = 0; i < result_.cells.size(); ++i)
      if (result_.cells[i].setting == setting_) figure.cells.push_back(cell_of(i));
    note_reasons(figure);
    return figures::draw(figure, style);
  }

 private:
  /// Best value of the layouts that fit, by cell.
  void find_best() {
    found_.assign(result_.cells.size(), std::nullopt);
    const std::uint64_t points =
        result_.space.size() / static_cast<std::uint64_t>(result_.cells.size());
    for (std::size_t i = 0; i < result_.simulated.size(); ++i) {
      const SimulatedLayout& layout = result_.simulated[i];
      const auto value = metric_of(result_, i, metric_.metric);
      if (!layout.fits || !layout.holds || !value) continue;
      auto& best = found_[static_cast<std::size_t>(layout.index / points)];
      if (!best || is_better(*value, *best)) best = *value;
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!found_[i] || result_.cells[i].setting != setting_) continue;
      if (!best_ || is_better(*found_[i], *best_)) best_ = *found_[i];
      if (!worst_ || is_better(*worst_, *found_[i])) worst_ = *found_[i];
    }
  }

  bool is_better(double a, double b) const { return metric_.less_is_better ? a < b : a > b; }

  figures::HeatCell cell_of(std::size_t i) {
    const SearchCell& cell = result_.cells[i];
    using Kind = figures::HeatCell::Kind;
    figures::HeatCell out;
    out.title = fmt::format("tp {}, pp {}", result_.space.axis(LayoutKey::tp).values[cell.tp].text,
                            result_.space.axis(LayoutKey::pp).values[cell.pp].text);
    if (found_[i]) {
      out.kind = Kind::found;
      out.text = value_text(metric_, *found_[i]);
      out.best = *found_[i] == *best_;
      out.more = out.best ? "best" : fmt::format("{:+.1f} %", 100 * (*found_[i] / *best_ - 1));
      const double spread = std::abs(*worst_ - *best_);
      out.shade = spread > 0 ? std::abs(*found_[i] - *best_) / spread : 0;
    } else if (!cell.bound || dropped(cell) >= cell.points) {
      out.kind = cell.points > 0 ? Kind::refused : Kind::empty;
      out.text = reason(cell);
    } else {
      out.kind = Kind::bounded;
      out.text = fmt::format("{} {}", metric_.less_is_better ? "≥" : "≤",
                             value_text(metric_, *cell.bound));
    }
    return out;
  }

  static std::uint64_t dropped(const SearchCell& cell) {
    std::uint64_t out = cell.memory + cell.limits;
    for (const std::uint64_t each : cell.rules) out += each;
    return out;
  }

  /// Why a cell has no layout: the last check that its points reached, in the order rules, --where,
  /// memory. Duplicates do not count, since another point stands for them.
  std::string reason(const SearchCell& cell) {
    if (cell.points == 0) return "";
    if (cell.memory > 0) return noted("memory");
    if (cell.limits > 0) return noted("--where");
    std::size_t most = 0;
    for (std::size_t rule = 0; rule < kPlanRules; ++rule) {
      if (static_cast<PlanRule>(rule) == PlanRule::duplicate) continue;
      if (cell.rules[rule] > cell.rules[most]) most = rule;
    }
    return noted(std::string{to_string(static_cast<PlanRule>(most))});
  }

  std::string noted(std::string reason) {
    reasons_.insert(reason);
    return reason;
  }

  void note_reasons(figures::HeatFigure& figure) const {
    if (reasons_.contains("memory"))
      figure.notes.emplace_back("memory: a lower bound on its memory exceeds the GPU's");
    if (reasons_.contains("--where"))
      figure.notes.emplace_back("--where: no layout can hold the limits");
    for (std::size_t rule = 0; rule < kPlanRules; ++rule) {
      const auto each = static_cast<PlanRule>(rule);
      if (reasons_.contains(std::string{to_string(each)}))
        figure.notes.push_back(fmt::format("{}: {}", to_string(each), app::words_of(each)));
    }
  }

  const PlanResult& result_;
  MetricInfo metric_;
  std::size_t setting_ = 0;
  std::vector<std::optional<double>> found_{};
  std::optional<double> best_{};
  std::optional<double> worst_{};
  std::set<std::string> reasons_{};
};

/// How the points of the space were decided: a bar for each rule, bound and simulation.
std::string rejections_figure(const PlanResult& result, const figures::FigureStyle& style) {
  const SearchCertificate& of = result.certificate;
  figures::BarFigure figure;
  figure.heading = heading_of(result, "How the points of the space were decided");
  figure.axis = {"Share of the points", figures::Unit::share, false};
  figure.most = 1;
  figure.parts = {{"points"}};
  const auto add = [&](std::string name, std::uint64_t count) {
    if (count == 0) return;
    figures::Bar bar{
        std::move(name), {static_cast<double>(count) / static_cast<double>(of.points)}, {}};
    bar.text = with_commas(static_cast<double>(count));
    figure.bars.push_back(std::move(bar));
  };
  for (std::size_t rule = 0; rule < kPlanRules; ++rule)
    add(std::string{words_of(static_cast<PlanRule>(rule))}, of.rules[rule]);
  add("need more memory than a GPU has", of.memory);
  add("cannot hold --where", of.limits);
  add("bounded away", of.bounded);
  add("deadlock, or too large to simulate", of.not_simulated);
  add("simulated", of.simulated);
  add("undecided", of.undecided);
  figure.notes.push_back(fmt::format("Numbers are points of {}; each is counted once.", of.points));
  return figures::draw(figure, style);
}

}  // namespace

const std::vector<std::string>& plan_figure_kinds() {
  static const std::vector<std::string> kinds{"front", "heatmap", "rejections"};
  return kinds;
}

std::string plan_figure(const std::string& kind, const PlanResult& result,
                        const figures::FigureStyle& style) {
  if (kind == "rejections") return rejections_figure(result, style);
  return kind == "front" ? FrontFigure{result}.draw(style) : HeatMap{result}.draw(style);
}

}  // namespace lockstep::cli
