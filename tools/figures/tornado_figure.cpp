#include "tools/figures/tornado_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kSize = 13;
constexpr double kStep = 32;  // from bar to bar
constexpr double kHeight = 22;
constexpr double kMostName = 300;
constexpr double kLeastShown = 5e-5;  // of the result

class TornadoDrawing {
 public:
  TornadoDrawing(const TornadoFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    double names = 0;
    range_ = {figure.middle, figure.middle};
    for (const TornadoBar& bar : figure.bars) {
      names = std::max(names, text_width(bar.name, kSize));
      range_.from = std::min(range_.from, bar.low);
      range_.to = std::max(range_.to, bar.high);
    }
    // Values stand at the ends of the bars.
    const double margin = std::max(0.16 * (range_.to - range_.from), 1e-9 * figure.middle);
    range_ = {range_.from - margin, range_.to + margin};
    left_ = 16 + std::min(names, kMostName) + 10;
    plot_ = width_ - left_ - 24;
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    y += draw_legend(svg_,
                     {{svg_.fill(kColors[2], Pattern::plain), figure_.low_label},
                      {svg_.fill(kColors[1], Pattern::plain), figure_.high_label}},
                     {16, y}, width_ - 32);
    top_ = y + 20;
    const double bottom = top_ + kStep * static_cast<double>(figure_.bars.size());
    draw_axis(bottom);
    for (std::size_t i = 0; i < figure_.bars.size(); ++i)
      draw_bar(figure_.bars[i], top_ + kStep * static_cast<double>(i));
    draw_middle(bottom);
    const double foot = bottom + 52;
    return svg_.finish(
        {width_, foot + draw_notes(svg_, figure_.notes, {16, foot}, width_ - 32) + 12});
  }

 private:
  [[nodiscard]] double place(double value) const {
    return left_ + plot_ * position(value, range_, false);
  }

  void draw_axis(double bottom) {
    svg_.begin("axes");
    for (const Mark& mark : axis_marks(range_, figure_.axis, 6)) {
      const double x = place(mark.at);
      svg_.line({x, top_}, {x, bottom + 4}, {kGridColor, 1, {}});
      svg_.text({x, bottom + 19}, mark.text, {.size = kSize, .anchor = Anchor::middle});
    }
    svg_.text({left_ + plot_ / 2, bottom + 42}, figure_.axis.label,
              {.size = 14, .anchor = Anchor::middle});
    svg_.end();
  }

  void draw_bar(const TornadoBar& bar, double y) {
    svg_.begin("bar",
               fmt::format("{}: {} to {}", bar.name, value_text(bar.low, figure_.axis.unit, 5),
                           value_text(bar.high, figure_.axis.unit, 5)));
    svg_.text({left_ - 8, y + kHeight / 2 + 4.5}, shortened(bar.name, kSize, kMostName),
              {.size = kSize, .anchor = Anchor::end});
    draw_side(bar.low, kColors[2], Anchor::end, y);
    draw_side(bar.high, kColors[1], Anchor::start, y);
    svg_.end();
  }

  /// From the middle; its difference stands outside, on white.
  void draw_side(double value, std::string_view color, Anchor anchor, double y) {
    const double from = std::min(place(value), place(figure_.middle));
    const double to = std::max(place(value), place(figure_.middle));
    if (to > from) svg_.rect({from, y}, {to - from, kHeight}, svg_.fill(color, Pattern::plain));
    const bool is_low = anchor == Anchor::end;
    const double share = figure_.middle != 0 ? value / figure_.middle - 1 : 0;
    if (std::abs(share) < kLeastShown) return;
    const std::string text = fmt::format("{:+.2f} %", 100 * share);
    const double wide = text_width(text, kSize);
    const double x = is_low ? from - 6 : to + 6;
    svg_.rect({is_low ? x - wide - 2 : x - 2, y + 2}, {wide + 4, 18}, "#ffffff");
    svg_.text({x, y + kHeight / 2 + 4.5}, text, {.size = kSize, .anchor = anchor});
  }

  void draw_middle(double bottom) {
    const double x = place(figure_.middle);
    svg_.line({x, top_ - 4}, {x, bottom + 4}, {"#000000", 1.5, {}});
    svg_.text({x, top_ - 8}, figure_.middle_label, {.size = 12, .anchor = Anchor::middle});
  }

  const TornadoFigure& figure_;
  Svg svg_;
  double width_;
  Range range_;
  double left_ = 0;
  double plot_ = 0;
  double top_ = 0;
};

}  // namespace

std::string draw(const TornadoFigure& figure, const FigureStyle& style) {
  return TornadoDrawing(figure, style).run();
}

}  // namespace lockstep::figures
