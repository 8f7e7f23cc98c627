#include "tools/figures/step/cluster_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kBox = 18;        // height of an element
constexpr double kRowHeight = 46;  // within nodes
constexpr double kLeastCell = 9;
constexpr double kMostCell = 44;
constexpr double kSide = 1.4;  // between the two directions of a cable
constexpr double kGridStep = 78;

/// Looks of links by use, the least first.
struct UseLook {
  double from;  // share of the bandwidth
  std::string_view color;
  double width;
  std::string_view text;
};
constexpr std::array<UseLook, 5> kLooks = {{{0, "#8fbadb", 1.1, "below 5 %"},
                                            {0.05, "#4a90c8", 1.7, "5 to 25 %"},
                                            {0.25, "#14568f", 2.4, "25 to 50 %"},
                                            {0.5, "#d1602a", 3, "50 to 75 %"},
                                            {0.75, "#8c1515", 3.6, "75 % or more"}}};

const UseLook& look_of(double use) {
  std::size_t i = kLooks.size() - 1;
  while (i > 0 && use < kLooks.at(i).from) --i;
  return kLooks.at(i);
}

class ClusterDrawing {
 public:
  ClusterDrawing(const ClusterFigure& figure, const FigureStyle& style)
      : figure_{figure},
        compact_{style.compact},
        svg_{figure.heading.title, style.prefix},
        width_{style.width} {
    for (const ClusterElement& element : figure.elements) {
      nodes_ = std::max(nodes_, element.node + 1);
      if (element.node >= 0) ++in_node_[{element.row, element.node}];
    }
    places_.resize(figure.elements.size());
    boxes_.resize(figure.elements.size(), kBox);
    const bool aligned = figure.grid.columns == 0 && !figure.circle;
    if (aligned) measure();
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    y += draw_looks(y);
    if (figure_.circle)
      y = place_on_circle(y);
    else if (figure_.grid.columns > 0)
      y = place_on_grid(y);
    else
      y = place_in_rows(y);
    draw_idle();
    for (const ClusterCable& cable : figure_.cables)
      if (cable.carries) draw_cable(cable);
    for (std::size_t i = 0; i < figure_.elements.size(); ++i) draw_element(i);
    return svg_.finish({width_, y + draw_notes(svg_, figure_.notes, {16, y}, width_ - 32) + 12});
  }

 private:
  // Sizes of columns.

  /// Elements of the fullest row of a node.
  [[nodiscard]] std::size_t columns_of(int node) const {
    std::size_t most = 1;
    for (const auto& [key, count] : in_node_)
      if (key.second == node) most = std::max(most, count);
    return most;
  }

  void measure() {
    double names = 0;
    for (const std::string& row : figure_.rows) names = std::max(names, text_width(row, 12));
    left_ = 16 + names + 14;
    double columns = 0;
    for (int node = 0; node < nodes_; ++node) columns += static_cast<double>(columns_of(node));
    framed_ = columns > nodes_;
    gap_ = framed_ ? 1.2 : 0.1;
    columns += gap_ * nodes_;
    cell_ = std::clamp((width_ - left_ - 16) / columns, kLeastCell, kMostCell);
    span_ = cell_ * columns;
    width_ = std::max(width_, left_ + span_ + 16);
    start_ = left_ + (width_ - 16 - left_ - span_) / 2;
    thin_ = std::clamp(cell_ / 20, 0.5, 1.0);
  }

  // Places.

  /// Between tiers of the fabric, where links cross.
  [[nodiscard]] double tier_height() const { return std::clamp(span_ * 0.11, 64.0, 150.0); }

  [[nodiscard]] bool is_of_fabric(std::size_t row) const {
    return std::ranges::none_of(in_node_,
                                [&](const auto& each) { return each.first.first == row; });
  }

  double place_in_rows(double top) {
    double y = top + kBox;
    std::vector<double> rows;
    for (std::size_t row = 0; row < figure_.rows.size(); ++row) {
      rows.push_back(y);
      svg_.text({16, y + 4}, figure_.rows[row], {.size = 12, .color = kSoftText});
      y += is_of_fabric(row) ? tier_height() : kRowHeight;
    }
    const double bottom = rows.empty() ? top : rows.back() + kBox;
    place_nodes(rows);
    // Switches stand above what they connect; the lowest tier first.
    for (std::size_t row = figure_.rows.size(); row-- > 0;)
      if (is_of_fabric(row)) place_tier(row, rows[row]);
    return bottom + (framed_ ? 34 : 16);
  }

  void place_nodes(const std::vector<double>& rows) {
    std::vector<double> lefts(static_cast<std::size_t>(nodes_));
    std::vector<double> widths(static_cast<std::size_t>(nodes_));
    double x = start_ + gap_ * cell_ / 2;
    for (int node = 0; node < nodes_; ++node) {
      const auto at = static_cast<std::size_t>(node);
      lefts[at] = x;
      widths[at] = cell_ * static_cast<double>(columns_of(node));
      x += widths[at] + gap_ * cell_;
    }
    std::map<std::pair<std::size_t, int>, std::size_t> seen;
    double highest = std::numeric_limits<double>::max();
    double lowest = 0;
    for (std::size_t i = 0; i < figure_.elements.size(); ++i) {
      const ClusterElement& element = figure_.elements[i];
      if (element.node < 0) continue;
      const auto node = static_cast<std::size_t>(element.node);
      const auto count = static_cast<double>(in_node_.at({element.row, element.node}));
      const auto place = static_cast<double>(seen[{element.row, element.node}]++);
      const double step = widths[node] / count;
      places_[i] = {lefts[node] + step * (place + 0.5), rows[element.row]};
      boxes_[i] = std::clamp(step * 0.78, kLeastCell * 0.78, 64.0);
      highest = std::min(highest, rows[element.row]);
      lowest = std::max(lowest, rows[element.row]);
    }
    if (!framed_) return;
    for (int node = 0; node < nodes_; ++node) {
      const auto at = static_cast<std::size_t>(node);
      const double inset = gap_ * cell_ * 0.3;
      svg_.rect({lefts[at] - inset, highest - kBox},
                {widths[at] + 2 * inset, lowest - highest + 2 * kBox}, "#f4f6f9",
                R"(stroke="#b9c0ca" rx="4")");
      const std::string name = fmt::format("node {}", node);
      const bool fits = text_width(name, 11) < widths[at] + gap_ * cell_;
      svg_.text({lefts[at] + widths[at] / 2, lowest + kBox + 14},
                fits ? name : std::to_string(node),
                {.size = 11, .anchor = Anchor::middle, .color = kSoftText});
    }
  }

  /// Evenly, in the order of the middles of what each is connected with below.
  void place_tier(std::size_t row, double y) {
    std::vector<std::size_t> tier;
    for (std::size_t i = 0; i < figure_.elements.size(); ++i)
      if (figure_.elements[i].row == row) tier.push_back(i);
    std::map<std::size_t, std::pair<double, int>> below;
    for (const ClusterCable& cable : figure_.cables)
      if (figure_.elements[cable.to].row == row && figure_.elements[cable.from].row > row) {
        auto& [sum, count] = below[cable.to];
        sum += places_[cable.from].x;
        ++count;
      }
    const auto middle = [&](std::size_t i) {
      const auto found = below.find(i);
      return found == below.end() ? start_ : std::round(found->second.first / found->second.second);
    };
    std::ranges::stable_sort(tier, {}, middle);
    const double step = span_ / static_cast<double>(tier.size());
    for (std::size_t i = 0; i < tier.size(); ++i) {
      places_[tier[i]] = {start_ + step * (static_cast<double>(i) + 0.5), y};
      boxes_[tier[i]] = std::clamp(step * 0.8, 6.0, 76.0);
    }
  }

  double place_on_circle(double top) {
    const auto count = static_cast<double>(figure_.elements.size());
    const double radius = std::clamp(count * 5.5, 120.0, 300.0);
    const Point middle{width_ / 2, top + radius + 24};
    for (std::size_t i = 0; i < figure_.elements.size(); ++i) {
      const double angle = std::numbers::pi * (2 * static_cast<double>(i) / count - 0.5);
      places_[i] = {middle.x + radius * std::cos(angle), middle.y + radius * std::sin(angle)};
      boxes_[i] = std::clamp(2 * std::numbers::pi * radius / count * 0.75, 10.0, 28.0);
    }
    thin_ = count > 24 ? 0.6 : 1;
    return top + 2 * radius + 56;
  }

  /// Lines of a grid one below the other; planes of a third dimension side by side if there is
  /// room.
  double place_on_grid(double top) {
    const std::size_t per_plane = figure_.grid.columns * figure_.grid.lines;
    const std::size_t planes = std::max<std::size_t>(1, figure_.elements.size() / per_plane);
    const double wide = static_cast<double>(figure_.grid.columns) * kGridStep * 0.8 + 30;
    const double high = static_cast<double>(figure_.grid.lines) * kGridStep * 0.8 + 30;
    const auto across =
        std::clamp<std::size_t>(static_cast<std::size_t>((width_ - 32) / wide), 1, planes);
    width_ = std::max(width_, wide + 32);
    const double left = (width_ - static_cast<double>(across) * wide) / 2;
    for (std::size_t i = 0; i < figure_.elements.size(); ++i) {
      const std::size_t plane = i / per_plane;
      const std::size_t in_plane = i % per_plane;
      const std::size_t line_of_planes = plane / across;
      const std::size_t line = in_plane / figure_.grid.columns;
      places_[i] = {left + static_cast<double>(plane % across) * wide + 46 +
                        static_cast<double>(in_plane % figure_.grid.columns) * kGridStep * 0.8,
                    top + static_cast<double>(line_of_planes) * high + 26 +
                        static_cast<double>(line) * kGridStep * 0.8};
      boxes_[i] = 26;
    }
    return top + std::ceil(static_cast<double>(planes) / static_cast<double>(across)) * high;
  }

  // Drawing.

  double draw_looks(double top) {
    constexpr double kSample = 26;
    double x = 16;
    double y = top + 8;
    for (const UseLook& look : kLooks) {
      const double wide = kSample + 7 + text_width(look.text, 12) + 18;
      if (x > 16 && x + wide > width_ - 16) {
        x = 16;
        y += 19;
      }
      svg_.begin("use", {}, fmt::format(R"(data-from="{}")", look.from));
      svg_.line({x, y}, {x + kSample, y}, {look.color, look.width, {}});
      svg_.end();
      svg_.text({x + kSample + 7, y + 4}, look.text, {.size = 12});
      x += wide;
    }
    return y + 26 - top;
  }

  /// From box to box, moved aside by the cable's direction; arcs between elements of one row.
  [[nodiscard]] std::string way_of(const ClusterCable& cable) const {
    const Point a = places_[cable.from];
    const Point b = places_[cable.to];
    const double length = std::max(1e-6, std::hypot(b.x - a.x, b.y - a.y));
    const double side = kSide * thin_ * 1.2;
    const Point aside{-(b.y - a.y) / length * side, (b.x - a.x) / length * side};
    const Point from{a.x + aside.x, a.y + aside.y};
    const Point to{b.x + aside.x, b.y + aside.y};
    const std::string begin = "M" + coordinate(from.x) + " " + coordinate(from.y);
    const std::string end = coordinate(to.x) + " " + coordinate(to.y);
    if (!bends(a, b, length)) return begin + "L" + end;
    // To the left of its direction, so that both directions of a cable stand apart.
    const double high = std::min(38.0, 10 + length * 0.16);
    const Point control{(a.x + b.x) / 2 + (b.y - a.y) / length * high,
                        (a.y + b.y) / 2 - std::abs(b.x - a.x) / length * high};
    return begin + "Q" + coordinate(control.x) + " " + coordinate(control.y) + " " + end;
  }

  [[nodiscard]] bool bends(Point a, Point b, double length) const {
    if (figure_.circle) return false;
    if (figure_.grid.columns > 0) return length > kGridStep;
    return a.y == b.y;
  }

  void draw_idle() {
    std::string ways;
    for (const ClusterCable& cable : figure_.cables) {
      if (cable.carries || cable.from > cable.to) continue;
      ways += way_of(cable);
    }
    if (!ways.empty()) svg_.path(ways, "none", {"#d3d3d3", 0.7, {}});
  }

  void draw_cable(const ClusterCable& cable) {
    const UseLook& look = look_of(cable.use);
    svg_.begin("cable", compact_ ? std::string{} : cable.text,
               fmt::format(R"(data-link="#{}")", cable.id));
    svg_.path(way_of(cable), "none", {look.color, look.width * thin_, {}});
    svg_.end();
  }

  void draw_element(std::size_t i) {
    const ClusterElement& element = figure_.elements[i];
    const Point at = places_[i];
    svg_.begin("element", compact_ ? std::string{} : element.name);
    svg_.rect({at.x - boxes_[i] / 2, at.y - kBox / 2}, {boxes_[i], kBox}, "#ffffff",
              R"(stroke="#333333" rx="2")");
    constexpr double kSize = 11;
    if (!element.label.empty() && text_width(element.label, kSize) < boxes_[i] - 2)
      svg_.text({at.x, at.y + 4}, element.label, {.size = kSize, .anchor = Anchor::middle});
    svg_.end();
  }

  const ClusterFigure& figure_;
  bool compact_;
  Svg svg_;
  double width_;
  double left_ = 16;
  double start_ = 16;
  double span_ = 0;
  double cell_ = kMostCell;
  double gap_ = 0;
  double thin_ = 1;
  bool framed_ = false;
  int nodes_ = 0;
  std::map<std::pair<std::size_t, int>, std::size_t> in_node_{};  // elements by row and node
  std::vector<Point> places_{};
  std::vector<double> boxes_{};  // widths
};

}  // namespace

std::string draw(const ClusterFigure& figure, const FigureStyle& style) {
  return ClusterDrawing(figure, style).run();
}

}  // namespace lockstep::figures
