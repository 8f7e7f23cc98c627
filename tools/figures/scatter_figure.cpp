#include "tools/figures/scatter_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr std::size_t kMostOthers = 500;

constexpr double kTickSize = 13;
constexpr double kAxisSize = 14;
constexpr double kPlotHeight = 400;
constexpr std::size_t kNamed = 12;  // marked points with a number, at most

class ScatterDrawing {
 public:
  ScatterDrawing(const ScatterFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    for (const ScatterPoint& each : figure.points)
      (each.marked ? marked_ : others_).push_back(&each);
    const auto by_x = [](const ScatterPoint* a, const ScatterPoint* b) {
      return a->at.x != b->at.x ? a->at.x < b->at.x : a->at.y < b->at.y;
    };
    std::stable_sort(marked_.begin(), marked_.end(), by_x);
    x_ = range(&Point::x);
    y_ = range(&Point::y);
    y_marks_ = axis_marks(y_, figure.y, 9);
    double ticks = 0;
    for (const Mark& mark : y_marks_) ticks = std::max(ticks, text_width(mark.text, kTickSize));
    origin_.x = 16 + kAxisSize + 14 + ticks + 8;
    plot_ = {std::max(width_ - origin_.x - 40, 420.0), kPlotHeight};
    width_ = origin_.x + plot_.x + 40;
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    std::vector<LegendEntry> legend;
    if (!marked_.empty()) legend.push_back({std::string{kColors[1]}, figure_.marked_name});
    if (!others_.empty()) legend.push_back({"#b5b5b5", figure_.other_name});
    y += draw_legend(svg_, legend, {16, y}, width_ - 32);
    origin_.y = y + 6;
    draw_axes();
    if (figure_.line) draw_line();
    draw_others();
    for (const ScatterPoint* each : marked_) draw_dot(*each, 5.5, kColors[1], "#ffffff");
    draw_numbers();
    const double bottom = origin_.y + plot_.y + 56;
    const double height = bottom + draw_notes(svg_, notes(), {16, bottom}, width_ - 32) + 14;
    return svg_.finish({width_, height});
  }

 private:
  /// Around the data, with room on both sides: differences matter here, not distances from 0.
  [[nodiscard]] Range range(double Point::*of) const {
    if (figure_.points.empty()) return {0, 1};
    Range out{figure_.points.front().at.*of, figure_.points.front().at.*of};
    for (const ScatterPoint& each : figure_.points)
      out = {std::min(out.from, each.at.*of), std::max(out.to, each.at.*of)};
    const double middle = (out.from + out.to) / 2;
    const double room = std::max({0.08 * (out.to - out.from), 1e-3 * std::abs(middle), 1e-12});
    return {out.from >= 0 ? std::max(0.0, out.from - room) : out.from - room, out.to + room};
  }

  [[nodiscard]] Point place(const Point& point) const {
    return {origin_.x + plot_.x * position(point.x, x_, false),
            origin_.y + plot_.y * (1 - position(point.y, y_, false))};
  }

  void draw_axes() {
    const double bottom = origin_.y + plot_.y;
    svg_.begin("axes");
    for (const Mark& mark : axis_marks(x_, figure_.x, 8)) {
      const double x = place({mark.at, y_.from}).x;
      svg_.line({x, origin_.y}, {x, bottom + 4}, {kGridColor, 1, {}});
      svg_.text({x, bottom + 19}, mark.text, {.size = kTickSize, .anchor = Anchor::middle});
    }
    for (const Mark& mark : y_marks_) {
      const double y = place({x_.from, mark.at}).y;
      svg_.line({origin_.x - 4, y}, {origin_.x + plot_.x, y}, {kGridColor, 1, {}});
      svg_.text({origin_.x - 8, y + 4.5}, mark.text, {.size = kTickSize, .anchor = Anchor::end});
    }
    svg_.line({origin_.x, origin_.y}, {origin_.x, bottom}, {kAxisColor, 1.2, {}});
    svg_.line({origin_.x, bottom}, {origin_.x + plot_.x, bottom}, {kAxisColor, 1.2, {}});
    svg_.text({origin_.x + plot_.x / 2, bottom + 42}, figure_.x.label,
              {.size = kAxisSize, .anchor = Anchor::middle});
    svg_.text({16 + kAxisSize - 2, origin_.y + plot_.y / 2}, figure_.y.label,
              {.size = kAxisSize, .anchor = Anchor::middle, .turn = -90});
    svg_.end();
  }

  void draw_line() {
    std::vector<Point> line;
    for (const ScatterPoint* each : marked_) {
      const Point next = place(each->at);
      if (!line.empty())
        line.push_back(figure_.more_x ? Point{line.back().x, next.y}
                                      : Point{next.x, line.back().y});
      line.push_back(next);
    }
    if (line.size() > 1) svg_.polyline(line, {kColors[1], 1.5, "5 4"});
  }

  /// Of many points only the first in two by two pixels: the others would be behind it.
  void draw_others() {
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    for (const ScatterPoint* each : others_) {
      const Point at = place(each->at);
      const bool is_free = taken.emplace(std::llround(at.x / 2), std::llround(at.y / 2)).second;
      if (others_.size() > kMostOthers && !is_free) {
        ++hidden_;
      } else {
        draw_dot(*each, 3.6, "#b5b5b5", "#8a8a8a");
      }
    }
  }

  void draw_dot(const ScatterPoint& point, double radius, std::string_view fill,
                std::string_view border) {
    const Point at = place(point.at);
    const std::string size = coordinate(radius);
    svg_.begin(point.marked ? "front" : "point", point.name);
    svg_.path(
        fmt::format("M{},{} m-{r},0 a{r},{r} 0 1,0 {d},0 a{r},{r} 0 1,0 -{d},0 z", coordinate(at.x),
                    coordinate(at.y), fmt::arg("r", size), fmt::arg("d", coordinate(2 * radius))),
        fill, {border, 1, {}});
    svg_.end();
  }

  /// On the side of the better, where nothing is. The ends first, then from the left what has room;
  /// of many only some.
  void draw_numbers() {
    const double apart = marked_.size() > kNamed ? plot_.x / kNamed : 22;
    std::vector<std::size_t> order(marked_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.size() > 2) std::rotate(order.begin() + 1, order.end() - 1, order.end());
    for (const std::size_t i : order) {
      const Point at = place(marked_[i]->at);
      const bool is_free = std::none_of(named_.begin(), named_.end(), [&](std::size_t other) {
        const Point taken = place(marked_[other]->at);
        return std::abs(at.x - taken.x) < 22 && std::abs(at.y - taken.y) < 14;
      });
      const bool is_far = std::none_of(named_.begin(), named_.end(), [&](std::size_t other) {
        const Point taken = place(marked_[other]->at);
        return std::abs(at.x - taken.x) + std::abs(at.y - taken.y) < apart;
      });
      if (is_free && is_far) named_.push_back(i);
    }
    std::sort(named_.begin(), named_.end());
    for (std::size_t number = 0; number < named_.size(); ++number) {
      const Point at = place(marked_[named_[number]]->at);
      svg_.text({at.x + (figure_.more_x ? 7 : -7), at.y + (figure_.more_y ? -8 : 17)},
                std::to_string(number + 1),
                {.size = 13, .anchor = figure_.more_x ? Anchor::start : Anchor::end, .bold = true});
    }
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (std::size_t number = 0; number < named_.size(); ++number)
      out.push_back(fmt::format("{}: {}", number + 1, marked_[named_[number]]->name));
    if (marked_.size() > named_.size())
      out.push_back(
          fmt::format("{} more of the front have no number", marked_.size() - named_.size()));
    if (hidden_ > 0)
      out.push_back(fmt::format("{} of {} gray points are left out: they would be behind others",
                                hidden_, others_.size()));
    out.insert(out.end(), figure_.notes.begin(), figure_.notes.end());
    return out;
  }

  const ScatterFigure& figure_;
  Svg svg_;
  double width_;
  std::vector<const ScatterPoint*> marked_{};
  std::vector<const ScatterPoint*> others_{};
  std::size_t hidden_ = 0;            // of them
  std::vector<std::size_t> named_{};  // of the marked ones
  Range x_;
  Range y_;
  std::vector<Mark> y_marks_{};
  Point origin_{};
  Point plot_{};
};

}  // namespace

std::string draw(const ScatterFigure& figure, const FigureStyle& style) {
  return ScatterDrawing(figure, style).run();
}

}  // namespace lockstep::figures
