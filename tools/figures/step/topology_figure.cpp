#include "tools/figures/step/topology_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tools/figures/axis.hpp"
#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kBoxHeight = 40;
constexpr double kLevelHeight = 120;
constexpr double kSide = 14;  // between the two directions of a link

class TopologyDrawing {
 public:
  TopologyDrawing(const TopologyFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    for (std::size_t i = 0; i < figure.kinds.size(); ++i)
      levels_[figure.kinds[i].level].push_back(i);
  }

  std::string run() {
    const double head = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    place_boxes(head + 10);
    for (const TopologyLinks& links : figure_.links) draw_links(links);
    for (std::size_t i = 0; i < figure_.kinds.size(); ++i) draw_box(i);
    for (const TopologyLinks& links : figure_.links) draw_label(links);
    return svg_.finish(
        {width_, foot_ + draw_notes(svg_, figure_.notes, {16, foot_}, width_ - 32) + 12});
  }

 private:
  /// The highest level on top, the boxes of a level side by side.
  void place_boxes(double top) {
    middles_.resize(figure_.kinds.size());
    double y = top + kBoxHeight / 2;
    for (const auto& [level, kinds] : levels_) {
      const double step = (width_ - 32) / static_cast<double>(kinds.size());
      double x = 16 + step / 2;
      for (const std::size_t kind : kinds) {
        middles_[kind] = {x, y};
        x += step;
      }
      y += kLevelHeight;
    }
    foot_ = y - kLevelHeight + kBoxHeight / 2 + 28;
  }

  [[nodiscard]] std::string text_of(std::size_t kind) const {
    return fmt::format("{} × {}", figure_.kinds[kind].count, figure_.kinds[kind].name);
  }

  [[nodiscard]] double width_of(std::size_t kind) const {
    return text_width(text_of(kind), 14) + 28;
  }

  void draw_box(std::size_t kind) {
    const Point middle = middles_[kind];
    const std::string text = text_of(kind);
    const double wide = width_of(kind);
    svg_.begin("element", text);
    svg_.rect({middle.x - wide / 2, middle.y - kBoxHeight / 2}, {wide, kBoxHeight}, "#ffffff",
              R"(stroke="#222222" stroke-width="1.5" rx="5")");
    svg_.text({middle.x, middle.y + 5}, text, {.size = 14, .anchor = Anchor::middle});
    svg_.end();
  }

  struct Ends {
    Point from;
    Point to;
  };

  /// The two directions stand side by side; links within a kind are a short line below its box.
  [[nodiscard]] Ends ends_of(const TopologyLinks& links) const {
    Point a = middles_[links.from];
    Point b = middles_[links.to];
    if (links.from == links.to)
      return {{a.x - 60, a.y + kBoxHeight / 2 + 8}, {a.x + 60, a.y + kBoxHeight / 2 + 8}};
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const double side = links.count == 0 ? 0 : kSide;
    const Point aside{-(b.y - a.y) / length * side, (b.x - a.x) / length * side};
    const double first = inside(links.from, aside, {b.x - a.x, b.y - a.y});
    const double last = inside(links.to, aside, {a.x - b.x, a.y - b.y});
    return {{a.x + aside.x + first * (b.x - a.x), a.y + aside.y + first * (b.y - a.y)},
            {b.x + aside.x - last * (b.x - a.x), b.y + aside.y - last * (b.y - a.y)}};
  }

  /// The share of `way` that is inside the box of `kind`, from `aside` of its middle: up to its
  /// edge, or to its corner where the line passes next to it.
  [[nodiscard]] double inside(std::size_t kind, Point aside, Point way) const {
    const auto until = [](double half, double from, double length) {
      return length == 0 ? 1.0 : ((length > 0 ? half : -half) - from) / length;
    };
    const double share =
        std::min(until(width_of(kind) / 2, aside.x, way.x), until(kBoxHeight / 2, aside.y, way.y));
    return std::clamp(share, 0.0, 0.5);
  }

  void draw_links(const TopologyLinks& links) {
    const Ends ends = ends_of(links);
    svg_.begin("link", links.text,
               fmt::format(R"(data-link="{}")", xml_text(figure_.kinds[links.from].name + " -> " +
                                                         figure_.kinds[links.to].name)));
    if (links.count == 0)
      svg_.line(ends.from, ends.to, {"#999999", 1, "3 4"});
    else
      svg_.line(ends.from, ends.to, {"#1f5fa8", 1.5 + 10 * links.busiest, {}});
    svg_.end();
  }

  void draw_label(const TopologyLinks& links) {
    if (links.count == 0) return;
    const Ends ends = ends_of(links);
    const std::string text = fmt::format("{} {}",
                                         links.from == links.to    ? "↔"
                                         : ends.to.y < ends.from.y ? "↑"
                                         : ends.to.y > ends.from.y ? "↓"
                                         : ends.to.x > ends.from.x ? "→"
                                                                   : "←",
                                         value_text(links.busiest, Unit::share, 3));
    const double wide = text_width(text, 12);
    const Point at = free_place(ends, wide);
    labels_.push_back({at, wide});
    svg_.begin("label");
    svg_.rect({at.x - 2, at.y - 11}, {wide + 4, 14}, "#ffffff");
    svg_.text(at, text, {.size = 12});
    svg_.end();
  }

  struct Label {
    Point at;  // left end of its base line
    double wide = 0;
  };

  /// Next to a link, in the middle or as near to it as neither a label nor another link is; where
  /// there is no such place, as no label is.
  [[nodiscard]] Point free_place(const Ends& ends, double wide) const {
    for (const bool clear_of_links : {true, false})
      for (const double share : {0.5, 0.36, 0.64, 0.22, 0.78}) {
        const Label label{next_to(ends, share, wide), wide};
        if (is_clear_of_labels(label) && (!clear_of_links || is_clear_of_links(label, ends)))
          return label.at;
      }
    return next_to(ends, 0.5, wide);
  }

  [[nodiscard]] bool is_clear_of_labels(const Label& label) const {
    return std::none_of(labels_.begin(), labels_.end(),
                        [&](const Label& other) { return overlap(label, other); });
  }

  [[nodiscard]] bool is_clear_of_links(const Label& label, const Ends& own) const {
    return std::none_of(figure_.links.begin(), figure_.links.end(),
                        [&](const TopologyLinks& links) {
                          const Ends ends = ends_of(links);
                          const bool same = ends.from.x == own.from.x && ends.from.y == own.from.y;
                          return links.count > 0 && !same && crosses(ends, label);
                        });
  }

  /// At one of some points along the link, closer than the label is high.
  static bool crosses(const Ends& ends, const Label& label) {
    constexpr int kPoints = 32;
    for (int i = 0; i <= kPoints; ++i) {
      const double share = static_cast<double>(i) / kPoints;
      const double x = ends.from.x + share * (ends.to.x - ends.from.x);
      const double y = ends.from.y + share * (ends.to.y - ends.from.y);
      if (x > label.at.x - 2 && x < label.at.x + label.wide + 2 && y > label.at.y - 12 &&
          y < label.at.y + 4)
        return true;
    }
    return false;
  }

  static Point next_to(const Ends& ends, double share, double wide) {
    const Point on{ends.from.x + share * (ends.to.x - ends.from.x),
                   ends.from.y + share * (ends.to.y - ends.from.y)};
    if (ends.to.y == ends.from.y)
      return {on.x - wide / 2, on.y + (ends.to.x < ends.from.x ? -6 : 15)};
    return {on.x + (ends.to.y < ends.from.y ? 6 : -6 - wide), on.y + 4};  // up: to the right
  }

  static bool overlap(const Label& a, const Label& b) {
    return a.at.x < b.at.x + b.wide + 6 && b.at.x < a.at.x + a.wide + 6 &&
           std::abs(a.at.y - b.at.y) < 16;
  }

  const TopologyFigure& figure_;
  Svg svg_;
  double width_;
  double foot_ = 0;
  std::map<int, std::vector<std::size_t>, std::greater<>> levels_{};  // the highest first
  std::vector<Point> middles_{};
  std::vector<Label> labels_{};  // drawn so far
};

}  // namespace

std::string draw(const TopologyFigure& figure, const FigureStyle& style) {
  return TopologyDrawing(figure, style).run();
}

}  // namespace lockstep::figures
