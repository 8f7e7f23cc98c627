#include "tools/figures/curve_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kTickSize = 13;
constexpr double kLabelSize = 13;
constexpr double kAxisSize = 14;
constexpr double kPlotHeight = 400;
constexpr std::string_view kOtherColor = "#bbbbbb";
constexpr std::size_t kMostValues = 64;    // of a curve whose points can be read
constexpr std::size_t kMostPoints = 1000;  // of a line that is drawn as it is

struct Ranges {
  Range x;
  Range y;
};

Ranges data_ranges(const CurveFigure& figure) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  Ranges out{{kFar, -kFar}, {kFar, -kFar}};
  for (const Curve& curve : figure.curves)
    for (const Point& point : curve.points) {
      if (!is_drawable(point, figure)) continue;
      out.x = {std::min(out.x.from, point.x), std::max(out.x.to, point.x)};
      out.y = {std::min(out.y.from, point.y), std::max(out.y.to, point.y)};
    }
  if (out.x.from > out.x.to) return {{1, 10}, {1, 10}};
  return out;
}

/// The look of a curve.
struct Look {
  std::string_view color;
  double width = 2;
  std::string_view dashes{};
  int marker = -1;  // none
};

constexpr std::array<std::string_view, kLabeledCurves> kDashes = {"",         "9 3", "2 3",
                                                                  "12 3 2 3", "",    "6 3"};

Look look_of(Curve::Kind kind, std::size_t number) {
  switch (kind) {
    case Curve::Kind::labeled:
      return {kColors.at(number), 2.2, kDashes.at(number), static_cast<int>(number)};
    case Curve::Kind::bound:
      return {"#000000", 1.5, "6 4", -1};
    case Curve::Kind::measured:
      return {"#000000", 0, "", static_cast<int>(kLabeledCurves)};
    case Curve::Kind::other:
      break;
  }
  return {kOtherColor, 1.2, "", -1};
}

/// Shapes differ too: circle, square, triangle, diamond, hollow circle, hollow square; measured:
/// a hollow black circle, larger.
void draw_marker(Svg& svg, Point at, const Look& look) {
  constexpr std::array<std::string_view, 7> kShapes = {"m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0 z",
                                                       "m-3.5,-3.5 h7 v7 h-7 z",
                                                       "m0,-4.5 l4.5,8 h-9 z",
                                                       "m0,-5 l5,5 l-5,5 l-5,-5 z",
                                                       "m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0 z",
                                                       "m-3.5,-3.5 h7 v7 h-7 z",
                                                       "m-5,0 a5,5 0 1,0 10,0 a5,5 0 1,0 -10,0 z"};
  if (look.marker < 0) return;
  const bool hollow = look.marker >= 4;
  svg.path(fmt::format("M{},{} {}", coordinate(at.x), coordinate(at.y),
                       kShapes.at(static_cast<std::size_t>(look.marker))),
           hollow ? "#ffffff" : look.color, {look.color, 1.6, {}});
}

class Drawing {
 public:
  Drawing(const CurveFigure& figure, const FigureStyle& style)
      : figure_{figure}, style_{style}, svg_{figure.heading.title, style.prefix} {
    const Ranges data = data_ranges(figure);
    x_ = axis_range(data.x, figure.x);
    y_ = axis_range(data.y, figure.y);
    if (!figure.x.logarithmic) x_ = data.x;
    number_curves();
    measure();
  }

  std::string run() {
    const double head = draw_heading(svg_, figure_.heading, 16, size_.x - 32);
    origin_.y = head + (figure_.crossings.empty() ? 6 : 38);
    draw_axes();
    draw_crossings();
    // Gray curves first, so that the others are on top.
    for (const bool gray : {true, false})
      for (std::size_t i = 0; i < figure_.curves.size(); ++i)
        if ((kinds_[i] == Curve::Kind::other) == gray) draw_curve(i);
    draw_labels();
    std::vector<std::string> notes = figure_.notes;
    if (std::string others = names_of_others(); !others.empty()) notes.push_back(std::move(others));
    const double bottom = origin_.y + plot_.y + 56;
    size_.y = bottom + draw_notes(svg_, notes, {16, bottom}, size_.x - 32) + 14;
    return svg_.finish(size_);
  }

 private:
  void number_curves() {
    std::size_t labeled = 0;
    for (const Curve& curve : figure_.curves) {
      Curve::Kind kind = curve.kind;
      if (kind == Curve::Kind::labeled && labeled == kLabeledCurves) kind = Curve::Kind::other;
      kinds_.push_back(kind);
      looks_.push_back(look_of(kind, labeled));
      if (kind == Curve::Kind::labeled) ++labeled;
    }
  }

  void measure() {
    y_marks_ = axis_marks(y_, figure_.y, 9);
    double ticks = 0;
    for (const Mark& mark : y_marks_) ticks = std::max(ticks, text_width(mark.text, kTickSize));
    origin_.x = 16 + kAxisSize + 14 + ticks + 8;
    double labels = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      if (kinds_[i] != Curve::Kind::other)
        labels = std::max(labels, text_width(figure_.curves[i].name, kLabelSize));
    const double right = labels > 0 ? std::min(labels, 300.0) + 62 : 24;
    plot_ = {std::max(style_.width - origin_.x - right, 420.0), kPlotHeight};
    size_.x = origin_.x + plot_.x + right;
  }

  [[nodiscard]] Point place(const Point& point) const {
    return {origin_.x + plot_.x * position(point.x, x_, figure_.x.logarithmic),
            origin_.y + plot_.y * (1 - position(point.y, y_, figure_.y.logarithmic))};
  }

  /// As many marks as have room for their texts.
  [[nodiscard]] std::vector<Mark> x_marks() const {
    std::vector<Mark> marks;
    for (int most = 12; most >= 2; --most) {
      marks = axis_marks(x_, figure_.x, most);
      double last = -1e9;
      bool fits = true;
      for (const Mark& mark : marks) {
        const double half = text_width(mark.text, kTickSize) / 2;
        const double at = plot_.x * position(mark.at, x_, figure_.x.logarithmic);
        fits = fits && at - half >= last + 10;
        last = at + half;
      }
      if (fits) break;
    }
    return marks;
  }

  void draw_axes() {
    svg_.begin("axes");
    const double bottom = origin_.y + plot_.y;
    for (const Mark& mark : y_marks_) {
      const double y = place({x_.from, mark.at}).y;
      svg_.line({origin_.x, y}, {origin_.x + plot_.x, y}, {kGridColor, 1, {}});
      svg_.text({origin_.x - 8, y + 4.5}, mark.text, {.size = kTickSize, .anchor = Anchor::end});
    }
    for (const Mark& mark : x_marks()) {
      const double x = place({mark.at, y_.to}).x;
      svg_.line({x, origin_.y}, {x, bottom}, {kGridColor, 1, {}});
      svg_.line({x, bottom}, {x, bottom + 4}, {kAxisColor, 1, {}});
      svg_.text({x, bottom + 19}, mark.text, {.size = kTickSize, .anchor = Anchor::middle});
    }
    svg_.line({origin_.x, origin_.y}, {origin_.x, bottom}, {kAxisColor, 1, {}});
    svg_.line({origin_.x, bottom}, {origin_.x + plot_.x, bottom}, {kAxisColor, 1, {}});
    svg_.text({origin_.x + plot_.x / 2, bottom + 44}, figure_.x.label,
              {.size = kAxisSize, .anchor = Anchor::middle});
    svg_.text({16 + kAxisSize, origin_.y + plot_.y / 2}, figure_.y.label,
              {.size = kAxisSize, .anchor = Anchor::middle, .turn = -90});
    svg_.end();
  }

  /// Labels stand above the plot, in two rows where they would touch.
  void draw_crossings() {
    std::array<double, 2> taken = {-1e9, -1e9};
    for (const Crossing& crossing : figure_.crossings) {
      if (crossing.x < x_.from || crossing.x > x_.to) continue;
      const double x = place({crossing.x, y_.to}).x;
      svg_.begin("crossing", crossing.label);
      svg_.line({x, origin_.y}, {x, origin_.y + plot_.y}, {"#777777", 1, "2 4"});
      const double half = text_width(crossing.label, 12) / 2;
      const std::size_t row = x - half > taken[0] ? 0 : x - half > taken[1] ? 1 : 2;
      if (row < 2) {
        taken.at(row) = x + half + 8;
        svg_.text({x, origin_.y - 5 - 15.0 * static_cast<double>(row)}, crossing.label,
                  {.size = 12, .anchor = Anchor::middle, .color = kSoftText});
      }
      svg_.end();
    }
  }

  [[nodiscard]] std::vector<Point> places(const Curve& curve) const {
    std::vector<Point> out;
    for (const Point& point : curve.points)
      if (is_drawable(point, figure_)) out.push_back(place(point));
    return out;
  }

  /// Of many points in one column of pixels the first, the lowest, the highest and the last.
  static std::vector<Point> seen(const std::vector<Point>& points) {
    if (points.size() <= kMostPoints) return points;
    std::vector<Point> out;
    for (std::size_t begin = 0; begin < points.size();) {
      std::size_t end = begin;
      std::size_t low = begin;
      std::size_t high = begin;
      for (; end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x);
           ++end) {
        if (points[end].y < points[low].y) low = end;
        if (points[end].y > points[high].y) high = end;
      }
      std::vector<std::size_t> kept{begin, low, high, end - 1};
      std::sort(kept.begin(), kept.end());
      kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
      for (const std::size_t each : kept) out.push_back(points[each]);
      begin = end;
    }
    return out;
  }

  void draw_curve(std::size_t i) {
    constexpr std::array<std::string_view, 4> kKinds = {"curve", "curve other", "curve bound",
                                                        "curve measured"};
    const Curve& curve = figure_.curves[i];
    const std::vector<Point> points = places(curve);
    if (points.empty()) return;
    const Look& look = looks_[i];
    svg_.begin(kKinds.at(static_cast<std::size_t>(kinds_[i])), curve.name);
    if (look.width > 0) svg_.polyline(seen(points), {look.color, look.width, look.dashes});
    draw_markers(points, look, kinds_[i] == Curve::Kind::measured);
    svg_.end();
    if (!style_.compact && points.size() <= kMostValues) draw_values(curve);
  }

  /// On curves of many points as many as stand clear of each other.
  void draw_markers(const std::vector<Point>& points, const Look& look, bool all) {
    const double gap = all || points.size() <= 40 ? 0 : plot_.x / 10;
    double next = points.front().x;
    for (const Point& point : points) {
      if (gap > 0 && point.x < next) continue;
      draw_marker(svg_, point, look);
      next = point.x + gap;
    }
  }

  /// What a reader of the curve gets at each point: an area without color that holds its values.
  void draw_values(const Curve& curve) {
    constexpr double kReach = 8;
    for (const Point& point : curve.points) {
      if (!is_drawable(point, figure_)) continue;
      const Point at = place(point);
      svg_.begin("value",
                 fmt::format("{}: {} at {}", curve.name, value_text(point.y, figure_.y.unit, 4),
                             value_text(point.x, figure_.x.unit, 4)));
      svg_.rect({at.x - kReach, at.y - kReach}, {2 * kReach, 2 * kReach}, "none",
                R"(pointer-events="all")");
      svg_.end();
    }
  }

  /// At the curves' ends, moved apart where they would overlap and tied to their curve by a line.
  void draw_labels() {
    std::vector<std::size_t> labeled;
    std::vector<Point> ends;
    std::vector<double> wanted;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i] == Curve::Kind::other) continue;
      const std::vector<Point> points = places(figure_.curves[i]);
      if (points.empty()) continue;
      labeled.push_back(i);
      ends.push_back(points.back());
      wanted.push_back(points.back().y);
    }
    const std::vector<double> at =
        spread(wanted, kLabelSize * 1.35, origin_.y + 6, origin_.y + plot_.y - 4);
    const double x = origin_.x + plot_.x + 16;
    for (std::size_t k = 0; k < labeled.size(); ++k) {
      const Look& look = looks_[labeled[k]];
      svg_.begin("label");
      svg_.line({ends[k].x + 6, ends[k].y}, {x - 3, at[k]}, {"#999999", 0.7, {}});
      if (look.width > 0)
        svg_.line({x, at[k]}, {x + 26, at[k]}, {look.color, look.width, look.dashes});
      draw_marker(svg_, {x + 13, at[k]}, look);
      svg_.text({x + 32, at[k] + 4.5}, shortened(figure_.curves[labeled[k]].name, kLabelSize, 300),
                {.size = kLabelSize});
      svg_.end();
    }
  }

  [[nodiscard]] std::string names_of_others() const {
    std::string out;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      if (kinds_[i] == Curve::Kind::other)
        out += (out.empty() ? "Gray: " : ", ") + figure_.curves[i].name;
    return out;
  }

  const CurveFigure& figure_;
  const FigureStyle& style_;
  Svg svg_;
  Range x_;
  Range y_;
  std::vector<Curve::Kind> kinds_{};
  std::vector<Look> looks_{};
  std::vector<Mark> y_marks_{};
  Point origin_;  // of the plot: its upper left corner
  Point plot_;
  Point size_;
};

}  // namespace

bool is_drawable(const Point& point, const CurveFigure& figure) {
  return std::isfinite(point.x) && std::isfinite(point.y) &&
         (!figure.x.logarithmic || point.x > 0) && (!figure.y.logarithmic || point.y > 0);
}

std::string draw(const CurveFigure& figure, const FigureStyle& style) {
  return Drawing(figure, style).run();
}

bool has_points(const CurveFigure& figure) {
  return std::any_of(figure.curves.begin(), figure.curves.end(), [&](const Curve& curve) {
    return std::any_of(curve.points.begin(), curve.points.end(),
                       [&](const Point& point) { return is_drawable(point, figure); });
  });
}

}  // namespace lockstep::figures
