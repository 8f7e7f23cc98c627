#include "tools/figures/step/track_figure.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tools/figures/axis.hpp"
#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr std::string_view kIdle = "#f7f7f7";
constexpr double kMostName = 240;

class TrackDrawing {
 public:
  TrackDrawing(const TrackFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix}, width_{style.width} {
    double names = 0;
    for (const TrackRow& row : figure.rows) names = std::max(names, text_width(row.name, 12));
    left_ = 16 + std::min(names, kMostName) + 10;
    plot_ = std::max(width_ - left_ - 24, 360.0);
    width_ = left_ + plot_ + 24;
    row_ = figure.rows.size() > 16 ? 18 : 26;
    for (const BarPart& part : figure.parts)
      fills_.push_back(svg_.fill(part.color, part.pattern, "#555555"));
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    std::vector<LegendEntry> legend;
    for (std::size_t i = 0; i < fills_.size(); ++i)
      legend.push_back({fills_[i], figure_.parts[i].name});
    y += draw_legend(svg_, legend, {16, y}, width_ - 32);
    const double bottom = y + row_ * static_cast<double>(figure_.rows.size());
    svg_.begin("tracks", {}, time_attribute(0, figure_.end, {left_, y}, {plot_, bottom - y}));
    draw_axis(y, bottom);
    for (const TrackRow& row : figure_.rows) {
      draw_row(row, y);
      y += row_;
    }
    svg_.end();
    const double foot = bottom + 46;
    return svg_.finish(
        {width_, foot + draw_notes(svg_, figure_.notes, {16, foot}, width_ - 32) + 12});
  }

 private:
  void draw_axis(double top, double bottom) {
    svg_.rect({left_, top}, {plot_, bottom - top}, kIdle);
    const Range range{0, figure_.end};
    for (const Mark& mark : axis_marks(range, {"Time", Unit::seconds, false}, 8)) {
      const double x = left_ + plot_ * position(mark.at, range, false);
      svg_.line({x, top}, {x, bottom + 4}, {kGridColor, 1, {}});
      svg_.text({x, bottom + 18}, mark.text, {.size = 12, .anchor = Anchor::middle});
    }
    svg_.text({left_ + plot_ / 2, bottom + 37}, "Time", {.size = 13, .anchor = Anchor::middle});
  }

  void draw_row(const TrackRow& row, double y) {
    svg_.begin("track", row.text.empty() ? row.name : row.name + ": " + row.text);
    svg_.line({left_, y + row_}, {left_ + plot_, y + row_}, {kAxisColor, 0.5, {}});
    svg_.text({left_ - 8, y + row_ / 2 + 4}, shortened(row.name, 12, kMostName),
              {.size = 12, .anchor = Anchor::end});
    const double room = row_ - 3;
    const double step = plot_ / static_cast<double>(std::max<std::size_t>(1, figure_.divisions));
    std::map<std::pair<std::size_t, double>, BoxRow> boxes;  // by part and height
    for (const TrackSlice& slice : row.slices) {
      const double high = std::max(0.6, room * std::clamp(slice.height, 0.0, 1.0));
      boxes.try_emplace({slice.part, high}, y + row_ - high / 2)
          .first->second.add(left_ + step * static_cast<double>(slice.first),
                             left_ + step * static_cast<double>(slice.last));
    }
    for (const auto& [key, of] : boxes) svg_.boxes(of, fills_.at(key.first), key.second);
    svg_.end();
  }

  const TrackFigure& figure_;
  Svg svg_;
  double width_;
  double left_ = 0;
  double plot_ = 0;
  double row_ = 26;
  std::vector<std::string> fills_{};
};

}  // namespace

std::string draw(const TrackFigure& figure, const FigureStyle& style) {
  return TrackDrawing(figure, style).run();
}

}  // namespace lockstep::figures
