#include "tools/figures/bar_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kNameSize = 13;
constexpr double kValueSize = 12;

double sum_of(const Bar& bar) {
  return std::accumulate(bar.values.begin(), bar.values.end(), 0.0);
}

class BarDrawing {
 public:
  BarDrawing(const BarFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    for (const BarPart& part : figure.parts) {
      fills_.push_back(svg_.fill(part.color, part.pattern, readable_on(part.color)));
      used_.push_back(false);
    }
    double names = 0;
    double texts = 0;
    double most = figure.line.value_or(0);
    for (const Bar& bar : figure.bars) {
      names = std::max(names, text_width(bar.name, kNameSize));
      texts = std::max(texts, text_width(text_of(bar), kNameSize));
      most = std::max(most, sum_of(bar));
      for (std::size_t i = 0; i < bar.values.size(); ++i) used_[i] = used_[i] || bar.values[i] > 0;
    }
    range_ = {0, figure.most.value_or(most > 0 ? most : 1)};
    left_ = 16 + std::min(names, 300.0) + 10;
    plot_ = std::max(width_ - left_ - texts - 30, 300.0);
    width_ = left_ + plot_ + texts + 30;
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    if (figure_.parts.size() > 1) y += draw_legend(svg_, legend(), {16, y}, width_ - 32);
    top_ = y + (figure_.line ? 20 : 4);
    const double bottom = top_ + step() * static_cast<double>(figure_.bars.size());
    draw_axis(bottom);
    for (std::size_t i = 0; i < figure_.bars.size(); ++i)
      draw_bar(figure_.bars[i], top_ + step() * static_cast<double>(i));
    draw_line(bottom);
    const double foot = bottom + 52;
    const double height = foot + draw_notes(svg_, figure_.notes, {16, foot}, width_ - 32) + 12;
    return svg_.finish({width_, height});
  }

 private:
  [[nodiscard]] std::string text_of(const Bar& bar) const {
    return bar.text.empty() ? value_text(sum_of(bar), figure_.axis.unit) : bar.text;
  }

  /// From bar to bar.
  [[nodiscard]] double step() const { return figure_.bars.size() > 24 ? 20 : 32; }

  [[nodiscard]] double place(double value) const {
    return left_ + plot_ * position(value, range_, false);
  }

  [[nodiscard]] std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> out;
    for (std::size_t i = 0; i < fills_.size(); ++i)
      if (used_[i]) out.push_back({fills_[i], figure_.parts[i].name});
    return out;
  }

  void draw_axis(double bottom) {
    svg_.begin("axes");
    for (const Mark& mark : axis_marks(range_, figure_.axis, 7)) {
      const double x = place(mark.at);
      svg_.line({x, top_}, {x, bottom + 4}, {kGridColor, 1, {}});
      svg_.text({x, bottom + 19}, mark.text, {.size = kNameSize, .anchor = Anchor::middle});
    }
    svg_.text({left_ + plot_ / 2, bottom + 42}, figure_.axis.label,
              {.size = 14, .anchor = Anchor::middle});
    svg_.end();
  }

  void draw_bar(const Bar& bar, double y) {
    const double height = step() * 0.72;
    svg_.begin("bar", bar.name);
    svg_.text({left_ - 8, y + height / 2 + 4.5}, shortened(bar.name, kNameSize, 300),
              {.size = kNameSize, .anchor = Anchor::end});
    double from = 0;
    for (std::size_t i = 0; i < bar.values.size(); ++i) {
      if (bar.values[i] <= 0) continue;
      draw_part(bar, i, {place(from), y}, {place(from + bar.values[i]) - place(from), height});
      from += bar.values[i];
    }
    draw_value(text_of(bar), {place(from) + 7, y + height / 2 + 4.5});
    svg_.end();
  }

  /// On white, so that no grid line crosses it.
  void draw_value(const std::string& text, Point at) {
    svg_.rect({at.x - 3, at.y - 13}, {text_width(text, kNameSize) + 6, 18}, "#ffffff");
    svg_.text(at, text, {.size = kNameSize});
  }

  void draw_part(const Bar& bar, std::size_t i, Point corner, Point size) {
    const BarPart& part = figure_.parts[i];
    std::string words = fmt::format("{}, {}: {}", bar.name, part.name,
                                    value_text(bar.values[i], figure_.axis.unit, 4));
    if (figure_.shares)
      words += fmt::format(" ({})", value_text(bar.values[i] / sum_of(bar), Unit::share, 3));
    svg_.begin("value", words);
    svg_.rect(corner, size, fills_[i], R"(stroke="#ffffff" stroke-width="0.8")");
    svg_.end();
    if (!figure_.shares) return;
    const std::string text = value_text(bar.values[i] / sum_of(bar), Unit::share, 2);
    const double wide = text_width(text, kValueSize);
    if (wide + 8 > size.x) return;
    // Text on a pattern stands on the plain color.
    const double middle = corner.x + size.x / 2;
    if (part.pattern != Pattern::plain)
      svg_.rect({middle - wide / 2 - 3, corner.y + size.y / 2 - 8}, {wide + 6, 16}, part.color);
    svg_.text({middle, corner.y + size.y / 2 + 4.2}, text,
              {.size = kValueSize, .anchor = Anchor::middle, .color = readable_on(part.color)});
  }

  [[nodiscard]] bool crosses_value(const Bar& bar, double x) const {
    const double from = place(sum_of(bar)) + 4;
    return x > from && x < from + text_width(text_of(bar), kNameSize) + 6;
  }

  /// Interrupted where a value stands.
  void draw_line(double bottom) {
    if (!figure_.line) return;
    const double x = place(*figure_.line);
    svg_.begin("line", figure_.line_label);
    double from = top_ - 4;
    for (std::size_t i = 0; i < figure_.bars.size(); ++i) {
      if (!crosses_value(figure_.bars[i], x)) continue;
      const double y = top_ + step() * static_cast<double>(i);
      svg_.line({x, from}, {x, y}, {"#000000", 1.5, "6 4"});
      from = y + step() * 0.72;
    }
    svg_.line({x, from}, {x, bottom}, {"#000000", 1.5, "6 4"});
    const double half = text_width(figure_.line_label, kValueSize) / 2;
    svg_.text({std::clamp(x, 16 + half, width_ - 16 - half), top_ - 8}, figure_.line_label,
              {.size = kValueSize, .anchor = Anchor::middle});
    svg_.end();
  }

  const BarFigure& figure_;
  Svg svg_;
  double width_;
  std::vector<std::string> fills_{};
  std::vector<bool> used_{};  // by part: whether any bar has it
  Range range_;
  double left_ = 0;
  double plot_ = 0;
  double top_ = 0;
};

}  // namespace

std::string draw(const BarFigure& figure, const FigureStyle& style) {
  return BarDrawing(figure, style).run();
}

}  // namespace lockstep::figures
