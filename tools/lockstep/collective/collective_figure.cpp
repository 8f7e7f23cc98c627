#include "tools/lockstep/collective/collective_figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/check.hpp"
#include "tools/figures/bar_figure.hpp"
#include "tools/figures/curve_text.hpp"
#include "tools/lockstep/collective/collective_render.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/report/report_page.hpp"

namespace lockstep::cli {

namespace {

using figures::Curve;
using figures::Point;
using figures::Unit;

/// Times within this are one curve to the eye.
constexpr double kSame = 0.005;

/// A candidate over the sizes above 0, smallest first.
struct Series {
  std::string name;
  Collective collective = Collective::all_reduce;
  std::vector<double> times;
  std::vector<double> bounds;
  bool switches = false;            // that reduce: the bound is another
  double score = 0;                 // mean of log(time over that of the fastest)
  bool leads = false;               // somewhere
  std::vector<std::string> same{};  // others with the same times
};

class CollectiveDrawing {
 public:
  CollectiveDrawing(const std::string& kind, const CollectiveFigureData& data)
      : data_{data}, report_{*data.report}, busbw_{kind == "busbw"} {
    for (std::size_t s = 0; s < report_.sizes.size(); ++s)
      if (report_.sizes[s].count() > 0) order_.push_back(s);
    std::sort(order_.begin(), order_.end(),
              [this](auto a, auto b) { return report_.sizes[a] < report_.sizes[b]; });
    order_.erase(
        std::unique(order_.begin(), order_.end(),
                    [this](auto a, auto b) { return report_.sizes[a] == report_.sizes[b]; }),
        order_.end());
    if (order_.empty()) throw Refusal("--plot: no size above 0; nothing to draw");
    for (std::size_t s : order_) sizes_.push_back(static_cast<double>(report_.sizes[s].count()));
    for (const Candidate& each : report_.candidates)
      if (std::find(collectives_.begin(), collectives_.end(), each.collective) ==
          collectives_.end())
        collectives_.push_back(each.collective);
    for (std::size_t c = 0; c < report_.candidates.size(); ++c) read(c);
    rank();
    merge();
  }

  [[nodiscard]] figures::CurveFigure curves() const {
    figures::CurveFigure out;
    out.heading = heading();
    out.x = {"Message size", Unit::bytes, true};
    out.y = busbw_ ? figures::Axis{"Bus bandwidth (busbw)", Unit::bytes_per_second, false}
                   : figures::Axis{"Time", Unit::seconds, true};
    const bool all_fit = series_.size() <= figures::kLabeledCurves;
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const bool labeled = all_fit || i < figures::kLabeledCurves;
      out.curves.push_back({name_of(series_[i]), points(series_[i].collective, series_[i].times),
                            labeled ? Curve::Kind::labeled : Curve::Kind::other});
    }
    for (Curve& bound : bounds()) out.curves.push_back(std::move(bound));
    if (data_.against != nullptr) out.curves.push_back(measured());
    out.crossings = crossings();
    out.notes = notes();
    return out;
  }

  /// Of a single size: a bar for each candidate, the fastest first.
  [[nodiscard]] figures::BarFigure bars() const {
    figures::BarFigure out;
    out.heading = heading();
    out.axis = busbw_ ? figures::Axis{"Bus bandwidth (busbw)", Unit::bytes_per_second, false}
                      : figures::Axis{"Time", Unit::seconds, false};
    out.parts = {{"simulated"}};
    std::vector<Series> sorted = series_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Series& a, const Series& b) { return a.times[0] < b.times[0]; });
    for (const Series& one : sorted)
      out.bars.push_back({name_of(one), {value(one.collective, sizes_[0], one.times[0])}, {}});
    if (collectives_.size() == 1) {
      out.line = bound_of(collectives_[0]).points[0].y;
      out.line_label = bound_name(collectives_[0]);
    }
    if (data_.against != nullptr)
      for (const Point& point : measured().points) out.bars.push_back({"measured", {point.y}, {}});
    out.notes = notes();
    return out;
  }

  [[nodiscard]] bool has_one_size() const { return sizes_.size() == 1; }

 private:
  void read(std::size_t candidate) {
    const Candidate& of = report_.candidates[candidate];
    Series out;
    out.name = of.text();
    if (collectives_.size() > 1)
      out.name = fmt::format("{} {}", to_string(of.collective), out.name);
    out.collective = of.collective;
    for (const std::size_t s : order_) {
      const CollectiveRow& row = report_.row(candidate, s);
      out.times.push_back(row.result.time.seconds());
      out.bounds.push_back(row.bound.time().seconds());
      out.switches = row.run.auxiliary_ranks == AuxiliaryRanks::node_switches ||
                     row.run.auxiliary_ranks == AuxiliaryRanks::fabric_switches;
      out.leads = out.leads || row.fastest;
    }
    series_.push_back(std::move(out));
  }

  [[nodiscard]] double best(Collective collective, std::size_t size) const {
    double out = INFINITY;
    for (const Series& each : series_)
      if (each.collective == collective) out = std::min(out, each.times[size]);
    return out;
  }

  /// Those that lead somewhere first, then by how far they are behind on average.
  void rank() {
    for (Series& each : series_) {
      for (std::size_t s = 0; s < sizes_.size(); ++s) {
        const double least = best(each.collective, s);
        if (least > 0) each.score += std::log(each.times[s] / least);
      }
    }
    std::stable_sort(series_.begin(), series_.end(), [](const Series& a, const Series& b) {
      return a.leads != b.leads ? a.leads : a.score < b.score;
    });
  }

  /// Curves that hide one another become one.
  void merge() {
    std::vector<Series> out;
    for (Series& each : series_) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const Series& other) {
        if (other.collective != each.collective) return false;
        for (std::size_t s = 0; s < sizes_.size(); ++s)
          if (std::abs(other.times[s] - each.times[s]) > kSame * each.times[s]) return false;
        return true;
      });
      if (same == out.end()) {
        out.push_back(std::move(each));
      } else {
        same->same.push_back(each.name);
      }
    }
    series_ = std::move(out);
  }

  [[nodiscard]] static std::string name_of(const Series& one) {
    if (one.same.empty()) return one.name;
    if (one.same.size() == 1) return one.name + " = " + one.same[0];
    return fmt::format("{} (and {} equal)", one.name, one.same.size());
  }

  /// Seconds, or bytes per second as nccl-tests counts them.
  [[nodiscard]] double value(Collective collective, double size, double time) const {
    if (!busbw_) return time;
    return time > 0 ? size / time * bus_factor(collective, report_.setup->ranks()) : NAN;
  }

  [[nodiscard]] std::vector<Point> points(Collective collective,
                                          const std::vector<double>& times) const {
    std::vector<Point> out;
    for (std::size_t s = 0; s < sizes_.size(); ++s)
      out.push_back({sizes_[s], value(collective, sizes_[s], times[s])});
    return out;
  }

  [[nodiscard]] std::string bound_name(Collective collective) const {
    const std::string what = busbw_ ? "upper bound" : "lower bound";
    return collectives_.size() == 1 ? what : fmt::format("{} {}", to_string(collective), what);
  }

  /// Of candidates without switches that reduce, if there are any.
  [[nodiscard]] Curve bound_of(Collective collective) const {
    const Series* from = nullptr;
    for (const Series& each : series_)
      if (each.collective == collective && (from == nullptr || (from->switches && !each.switches)))
        from = &each;
    LOCKSTEP_CHECK(from != nullptr);  // every collective of the figure has a candidate
    return {bound_name(collective), points(collective, from->bounds), Curve::Kind::bound};
  }

  /// Of each collective; bounds that hide one another become one.
  [[nodiscard]] std::vector<Curve> bounds() const {
    std::vector<Curve> out;
    for (const Collective collective : collectives_) {
      Curve bound = bound_of(collective);
      const auto same = std::find_if(out.begin(), out.end(), [&](const Curve& other) {
        return std::equal(other.points.begin(), other.points.end(), bound.points.begin(),
                          [](const Point& a, const Point& b) {
                            return std::abs(a.y - b.y) <= kSame * std::abs(b.y);
                          });
      });
      if (same == out.end()) {
        out.push_back(std::move(bound));
      } else {
        same->name.insert(same->name.rfind(' ', same->name.rfind(' ') - 1),
                          fmt::format(", {}", to_string(collective)));
      }
    }
    return out;
  }

  [[nodiscard]] Curve measured() const {
    Curve out{"measured", {}, Curve::Kind::measured};
    for (const MeasuredRow& row : data_.against->measured) {
      const auto size = static_cast<double>(row.size.count());
      out.points.push_back({size, value(collectives_[0], size, row.time.seconds())});
    }
    std::stable_sort(out.points.begin(), out.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    return out;
  }

  [[nodiscard]] std::string collective_names() const {
    std::vector<std::string_view> names;
    for (const Collective each : collectives_) names.push_back(to_string(each));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  [[nodiscard]] figures::Heading heading() const {
    figures::Heading out;
    const std::string what = busbw_ ? "bus bandwidth" : "time";
    const std::string by =
        has_one_size() ? " at " + to_string(report_.sizes[order_[0]]) : " by message size";
    out.title =
        fmt::format("{}: {}{}, {}", collective_names(), what, by,
                    data_.against != nullptr ? "simulated and measured"
                    : algorithm_count() > 1  ? fmt::format("{} algorithms", algorithm_count())
                                             : report_.candidates[0].text());
    out.details.push_back(setup_text_with_ranks(report_.setup->names()));
    if (std::string fastest = fastest_line(); !fastest.empty()) out.details.push_back(fastest);
    return out;
  }

  /// Different ones, whatever the collective.
  [[nodiscard]] std::size_t algorithm_count() const {
    std::set<std::string> names;
    for (const Candidate& each : report_.candidates) names.insert(each.text());
    return names.size();
  }

  struct Change {
    double size = 0;
    std::string to;
    bool exact = false;
  };

  /// Where the fastest of a single collective changes.
  [[nodiscard]] std::vector<Change> changes() const {
    if (collectives_.size() > 1) return {};
    std::vector<Change> out;
    if (data_.exact != nullptr) {
      for (const auto& one : data_.exact->collectives)
        for (const Crossover& each : one.changes)
          out.push_back({static_cast<double>(each.size.count()),
                         data_.exact->candidates[each.to].text(), true});
      return out;
    }
    for (std::size_t s = 0; s + 1 < sizes_.size(); ++s) {
      const Series& a = leader(s);
      const Series& b = leader(s + 1);
      // Of merged curves either may lead.
      if (&a == &b) continue;
      out.push_back({crossing(a, b, s), b.name, false});
    }
    return out;
  }

  [[nodiscard]] const Series& leader(std::size_t size) const {
    return *std::min_element(
        series_.begin(), series_.end(),
        [size](const Series& a, const Series& b) { return a.times[size] < b.times[size]; });
  }

  /// Where two curves cross between two sizes, straight on logarithmic axes.
  [[nodiscard]] double crossing(const Series& a, const Series& b, std::size_t s) const {
    const double before = std::log(b.times[s] / a.times[s]);
    const double after = std::log(a.times[s + 1] / b.times[s + 1]);
    const double part = before + after > 0 ? before / (before + after) : 0.5;
    return sizes_[s] * std::pow(sizes_[s + 1] / sizes_[s], part);
  }

  [[nodiscard]] static std::string size_of(const Change& change) {
    return (change.exact ? "" : "≈ ") +
           figures::value_text(change.size, Unit::bytes, change.exact ? 4 : 2);
  }

  [[nodiscard]] std::vector<figures::Crossing> crossings() const {
    std::vector<figures::Crossing> out;
    for (const Change& each : changes()) out.push_back({each.size, size_of(each)});
    return out;
  }

  [[nodiscard]] std::string fastest_line() const {
    if (collectives_.size() > 1 || series_.size() < 2) return {};
    const std::vector<Change> all = changes();
    std::string out =
        "Fastest: " + (data_.exact != nullptr && !data_.exact->collectives.empty()
                           ? data_.exact->candidates[data_.exact->collectives[0].fastest].text()
                           : leader(0).name);
    for (const Change& each : all) out += fmt::format(", from {} {}", size_of(each), each.to);
    return out;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (const Series& each : series_)
      if (each.same.size() > 1)
        out.push_back(
            fmt::format("Equal to {} within 0.5 %: {}.", each.name, fmt::join(each.same, ", ")));
    if (std::any_of(series_.begin(), series_.end(), [](const Series& s) { return s.switches; }))
      out.emplace_back(
          "Switches that reduce (NVLS, SHARP) send less than the bound assumes and may beat it.");
    for (const RequestProblem& each : report_.left_out)
      out.push_back("Not possible here: " + text_of_left_out(each) + ".");
    return out;
  }

  CollectiveFigureData data_;
  const CollectiveReport& report_;
  bool busbw_;
  std::vector<std::size_t> order_{};  // sizes that are drawn, smallest first
  std::vector<double> sizes_{};
  std::vector<Collective> collectives_{};
  std::vector<Series> series_{};
};

}  // namespace

const std::vector<std::string>& collective_figure_kinds() {
  static const std::vector<std::string> kKinds{"time", "busbw"};
  return kKinds;
}

std::string collective_figure(const std::string& kind, const CollectiveFigureData& data,
                              bool as_text, const figures::FigureStyle& style) {
  const CollectiveDrawing drawing(kind, data);
  if (as_text) return figures::draw_text(drawing.curves());
  return drawing.has_one_size() ? draw(drawing.bars(), style) : draw(drawing.curves(), style);
}

std::string collective_page(const Report& report, const CollectiveFigureData* data) {
  std::vector<PageFigure> figures;
  if (data != nullptr)
    for (const std::string& kind : collective_figure_kinds())
      figures.push_back({kind, [kind, data](bool compact) {
                           return collective_figure(kind, *data, false,
                                                    {.prefix = kind, .compact = compact});
                         }});
  return report_page(report, figures);
}

std::function<std::shared_ptr<const CollectiveReport>()> points_of(CollectiveRequest request) {
  request.on_progress = {};
  request.on_phase = {};
  return [request = std::move(request),
          kept = std::make_shared<std::shared_ptr<const CollectiveReport>>()] {
    if (*kept == nullptr) *kept = std::make_shared<const CollectiveReport>(run_collective(request));
    return *kept;
  };
}

Findings collective_findings(std::function<Report()> report, bool drawn,
                             const SharedCollectiveData& of) {
  Findings out;
  out.page = [report = std::move(report), of, drawn] {
    const auto points = of.points();
    const CollectiveFigureData data{points.get(), of.exact.get(), of.against.get()};
    return collective_page(report(), drawn ? &data : nullptr);
  };
  if (!drawn) return out;
  out.figures = collective_figure_kinds();
  out.figure = [of](const std::string& kind, const figures::FigureStyle& style) {
    const auto points = of.points();
    return collective_figure(kind, {points.get(), of.exact.get(), of.against.get()}, false, style);
  };
  return out;
}

}  // namespace lockstep::cli
