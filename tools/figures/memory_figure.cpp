#include "tools/figures/memory_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tools/figures/axis.hpp"
#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kHeight = 380;
constexpr double kLeastShare =
    0.25;  // of the axis that the peak takes; else the capacity is off it

struct AreaLook {
  std::string_view color;
  Pattern pattern;
};

/// Neighbors differ in lightness or pattern.
constexpr std::array<AreaLook, 8> kAreas = {{{"#1f5fa8", Pattern::plain},
                                             {"#a8cdec", Pattern::stripes},
                                             {"#e8b04a", Pattern::dots},
                                             {"#7cc49a", Pattern::plain},
                                             {"#b24a00", Pattern::plain},
                                             {"#e3b4cf", Pattern::bars},
                                             {"#777777", Pattern::plain},
                                             {"#d9d9d9", Pattern::grid}}};

double total(const MemorySample& sample) {
  return std::accumulate(sample.bytes.begin(), sample.bytes.end(), 0.0);
}

class MemoryDrawing {
 public:
  MemoryDrawing(const MemoryFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    for (const MemorySample& sample : figure.samples)
      if (total(sample) > peak_.bytes) peak_ = {sample.time, total(sample)};
    const double capacity = figure.capacity.value_or(0);
    capacity_above_ = peak_.bytes > 0 && peak_.bytes < kLeastShare * capacity;
    y_ = axis_range({0, capacity_above_ ? peak_.bytes : std::max(peak_.bytes, capacity)}, axis());
    for (const Mark& mark : axis_marks(y_, axis(), 8))
      left_ = std::max(left_, text_width(mark.text, 13));
    left_ += 16 + 24 + 8;
    plot_ = width_ - left_ - 24;
    figure_end_ = figure.end > 0 ? figure.end : 1;
    for (std::size_t i = 0; i < figure.categories.size(); ++i) {
      const AreaLook& look = kAreas.at(i % kAreas.size());
      fills_.push_back(svg_.fill(look.color, look.pattern, "#555555"));
    }
    thin();
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    y += draw_legend(svg_, legend(), {16, y}, width_ - 32);
    top_ = y + 8;
    draw_axes();
    draw_areas();
    draw_capacity();
    draw_peak();
    const double foot = top_ + kHeight + 52;
    std::vector<std::string> notes = figure_.notes;
    if (capacity_above_) notes.push_back("The " + capacity_text() + " is above the axis.");
    return svg_.finish({width_, foot + draw_notes(svg_, notes, {16, foot}, width_ - 32) + 12});
  }

 private:
  struct Peak {
    double time = 0;
    double bytes = 0;
  };

  static Axis axis() { return {"Memory", Unit::bytes, false}; }

  [[nodiscard]] double x_of(double time) const {
    return left_ + plot_ * position(time, {0, figure_end_}, false);
  }
  [[nodiscard]] double y_of(double bytes) const {
    return top_ + kHeight * (1 - position(bytes, y_, false));
  }

  /// Of the samples in one pixel the largest.
  void thin() {
    for (const MemorySample& sample : figure_.samples) {
      const bool same = !thinned_.empty() &&
                        std::floor(x_of(thinned_.back().time)) == std::floor(x_of(sample.time));
      if (!same) {
        thinned_.push_back(sample);
      } else if (total(sample) > total(thinned_.back())) {
        thinned_.back().bytes = sample.bytes;
      }
    }
  }

  [[nodiscard]] bool is_used(std::size_t category) const {
    return std::any_of(figure_.samples.begin(), figure_.samples.end(),
                       [&](const MemorySample& sample) { return sample.bytes[category] > 0; });
  }

  /// In the order of the areas, from the top.
  [[nodiscard]] std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> out;
    for (std::size_t i = fills_.size(); i-- > 0;)
      if (is_used(i)) out.push_back({fills_[i], figure_.categories[i]});
    return out;
  }

  void draw_axes() {
    svg_.begin("axes", {}, time_attribute(0, figure_end_, {left_, top_}, {plot_, kHeight}));
    for (const Mark& mark : axis_marks(y_, axis(), 8)) {
      const double y = y_of(mark.at);
      svg_.line({left_, y}, {left_ + plot_, y}, {kGridColor, 1, {}});
      svg_.text({left_ - 8, y + 4.5}, mark.text, {.size = 13, .anchor = Anchor::end});
    }
    for (const Mark& mark : axis_marks({0, figure_end_}, {"Time", Unit::seconds, false}, 8)) {
      const double x = x_of(mark.at);
      svg_.line({x, top_ + kHeight}, {x, top_ + kHeight + 4}, {kAxisColor, 1, {}});
      svg_.text({x, top_ + kHeight + 19}, mark.text, {.size = 13, .anchor = Anchor::middle});
    }
    svg_.line({left_, top_ + kHeight}, {left_ + plot_, top_ + kHeight}, {kAxisColor, 1, {}});
    svg_.text({left_ + plot_ / 2, top_ + kHeight + 42}, "Time",
              {.size = 14, .anchor = Anchor::middle});
    svg_.text({28, top_ + kHeight / 2}, "Memory",
              {.size = 14, .anchor = Anchor::middle, .turn = -90});
    svg_.end();
  }

  void draw_areas() {
    std::vector<double> base(thinned_.size(), 0);
    for (std::size_t i = 0; i < fills_.size(); ++i) {
      if (!is_used(i)) continue;
      std::vector<Point> upper;
      std::vector<Point> lower;
      for (std::size_t s = 0; s < thinned_.size(); ++s) {
        const double until = s + 1 < thinned_.size() ? thinned_[s + 1].time : figure_end_;
        const double above = base[s] + thinned_[s].bytes[i];
        for (const double time : {thinned_[s].time, until}) {
          upper.push_back({x_of(time), y_of(above)});
          lower.push_back({x_of(time), y_of(base[s])});
        }
        base[s] = above;
      }
      upper.insert(upper.end(), lower.rbegin(), lower.rend());
      svg_.begin("category", figure_.categories[i]);
      svg_.area(upper, fills_[i]);
      svg_.end();
    }
  }

  [[nodiscard]] std::string capacity_text() const {
    return "capacity " + value_text(*figure_.capacity, Unit::bytes, 3);
  }

  void draw_capacity() {
    if (!figure_.capacity || capacity_above_) return;
    const double y = y_of(*figure_.capacity);
    const std::string text = capacity_text();
    svg_.begin("capacity", text);
    svg_.line({left_, y}, {left_ + plot_, y}, {"#000000", 1.6, "8 4"});
    label({left_ + plot_ - 4, y - 6}, text, Anchor::end);
    svg_.end();
  }

  void draw_peak() {
    if (peak_.bytes <= 0) return;
    const Point at{x_of(peak_.time), y_of(peak_.bytes)};
    const std::string text = fmt::format("peak {} at {}", value_text(peak_.bytes, Unit::bytes, 4),
                                         value_text(peak_.time, Unit::seconds, 3));
    svg_.begin("peak", text);
    svg_.path(fmt::format("M{},{} m-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0 z", coordinate(at.x),
                          coordinate(at.y)),
              "#ffffff", {"#000000", 1.6, {}});
    // Not on the line of the capacity or its label, and not beyond the plot.
    const bool at_capacity =
        figure_.capacity && !capacity_above_ && std::abs(y_of(*figure_.capacity) - at.y) < 26;
    const bool right = at.x + text_width(text, 13) + 12 > left_ + plot_;
    label({at.x + (right ? -8 : 8), at.y + (at_capacity ? 20 : -8)}, text,
          right ? Anchor::end : Anchor::start);
    svg_.end();
  }

  /// On white, so that it can be read on any area.
  void label(Point at, const std::string& text, Anchor anchor) {
    const double wide = text_width(text, 13);
    const double from = anchor == Anchor::end ? at.x - wide : at.x;
    svg_.rect({from - 3, at.y - 12}, {wide + 6, 16}, "#ffffff", R"(fill-opacity="0.85")");
    svg_.text(at, text, {.size = 13, .anchor = anchor, .bold = false});
  }

  const MemoryFigure& figure_;
  Svg svg_;
  double width_;
  double left_ = 0;
  double plot_ = 0;
  double top_ = 0;
  double figure_end_ = 1;
  Range y_;
  Peak peak_;
  bool capacity_above_ = false;  // too far to draw the memory below it
  std::vector<std::string> fills_{};
  std::vector<MemorySample> thinned_{};
};

}  // namespace

std::string draw(const MemoryFigure& figure, const FigureStyle& style) {
  return MemoryDrawing(figure, style).run();
}

}  // namespace lockstep::figures
