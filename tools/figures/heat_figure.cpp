#include "tools/figures/heat_figure.hpp"

#include <algorithm>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kSize = 14;
constexpr double kMoreSize = 12;
constexpr double kRow = 54;
constexpr std::string_view kRefused = "#f2f2f2";
constexpr std::string_view kRefusedInk = "#bdbdbd";

class HeatDrawing {
 public:
  HeatDrawing(const HeatFigure& figure, const FigureStyle& style)
      : figure_{figure}, svg_{figure.heading.title, style.prefix} {
    double names = 0;
    for (const std::string& name : figure.rows) names = std::max(names, text_width(name, kSize));
    left_ = 16 + std::max(names, text_width(figure.row_label, kSize)) + 16;
    double wide = 76;
    for (const HeatCell& cell : figure.cells)
      wide = std::max(
          {wide, text_width(cell.text, kSize) + 20, text_width(cell.more, kMoreSize) + 20});
    const double columns = static_cast<double>(std::max<std::size_t>(1, figure.columns.size()));
    column_ = std::clamp((style.width - left_ - 24) / columns, wide, 130.0);
    width_ = std::max(style.width, left_ + columns * column_ + 24);
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    y += draw_legend(svg_, legend(), {16, y}, width_ - 32);
    svg_.text({left_ + column_ * static_cast<double>(figure_.columns.size()) / 2, y + 14},
              figure_.column_label, {.size = kSize, .anchor = Anchor::middle});
    top_ = y + 44;
    draw_names();
    for (std::size_t i = 0; i < figure_.cells.size(); ++i) draw_cell(i);
    for (std::size_t i = 0; i < figure_.cells.size(); ++i)
      if (figure_.cells[i].best) draw_frame(i);
    const double bottom = top_ + kRow * static_cast<double>(figure_.rows.size()) + 10;
    const double height = bottom + draw_notes(svg_, figure_.notes, {16, bottom}, width_ - 32) + 14;
    return svg_.finish({width_, height});
  }

 private:
  [[nodiscard]] static std::string color_of(const HeatCell& cell) {
    const double white = 0.1 + 0.78 * std::clamp(cell.shade, 0.0, 1.0);
    return lighter(kColors[0], white);
  }

  [[nodiscard]] std::string fill_of(const HeatCell& cell) {
    switch (cell.kind) {
      case HeatCell::Kind::found:
        return color_of(cell);
      case HeatCell::Kind::bounded:
        return svg_.fill("#ffffff", Pattern::dots, lighter(kColors[0], 0.35));
      case HeatCell::Kind::refused:
        return svg_.fill(kRefused, Pattern::stripes, kRefusedInk);
      case HeatCell::Kind::empty:
        break;
    }
    return "#ffffff";
  }

  [[nodiscard]] std::vector<LegendEntry> legend() {
    std::vector<LegendEntry> out;
    const auto add = [&](const HeatCell& like, const std::string& name) {
      const bool is_there =
          std::any_of(figure_.cells.begin(), figure_.cells.end(),
                      [&](const HeatCell& each) { return each.kind == like.kind; });
      if (is_there) out.push_back({fill_of(like), name});
    };
    add({HeatCell::Kind::found, 0.2, {}, {}, {}, false}, figure_.found_name);
    add({HeatCell::Kind::bounded, 0, {}, {}, {}, false}, figure_.bounded_name);
    add({HeatCell::Kind::refused, 0, {}, {}, {}, false}, figure_.refused_name);
    return out;
  }

  [[nodiscard]] Point corner_of(std::size_t i) const {
    const std::size_t columns = figure_.columns.size();
    return {left_ + column_ * static_cast<double>(i % columns),
            top_ + kRow * static_cast<double>(i / columns)};
  }

  void draw_names() {
    svg_.begin("axes");
    for (std::size_t i = 0; i < figure_.columns.size(); ++i)
      svg_.text({left_ + column_ * (static_cast<double>(i) + 0.5), top_ - 8}, figure_.columns[i],
                {.size = kSize, .anchor = Anchor::middle, .bold = true});
    for (std::size_t i = 0; i < figure_.rows.size(); ++i)
      svg_.text({left_ - 10, top_ + kRow * (static_cast<double>(i) + 0.5) + 5}, figure_.rows[i],
                {.size = kSize, .anchor = Anchor::end, .bold = true});
    svg_.text({left_ - 10, top_ - 8}, figure_.row_label, {.size = kSize, .anchor = Anchor::end});
    svg_.end();
  }

  void draw_cell(std::size_t i) {
    const HeatCell& cell = figure_.cells[i];
    const Point corner = corner_of(i);
    svg_.begin("cell", cell.title);
    svg_.rect(corner, {column_, kRow}, fill_of(cell), R"(stroke="#ffffff" stroke-width="2")");
    const bool plain = cell.kind == HeatCell::Kind::found;
    const std::string_view ink = plain ? readable_on(color_of(cell)) : kText;
    const double middle = corner.x + column_ / 2;
    const auto write = [&](const std::string& text, double y, double size) {
      if (text.empty()) return;
      const double wide = text_width(text, size);
      // Text on a pattern stands on a plain color.
      if (!plain)
        svg_.rect({middle - wide / 2 - 4, y - size + 1}, {wide + 8, size + 3},
                  cell.kind == HeatCell::Kind::refused ? kRefused : "#ffffff");
      svg_.text({middle, y}, text,
                {.size = size, .anchor = Anchor::middle, .color = ink, .bold = cell.best});
    };
    const double y = corner.y + kRow / 2 + (cell.more.empty() ? 5 : -3);
    write(cell.text, y, kSize);
    write(cell.more, y + 18, kMoreSize);
    svg_.end();
  }

  void draw_frame(std::size_t i) {
    const Point corner = corner_of(i);
    svg_.rect({corner.x + 1, corner.y + 1}, {column_ - 2, kRow - 2}, "none",
              R"(stroke="#000000" stroke-width="3")");
  }

  const HeatFigure& figure_;
  Svg svg_;
  double left_ = 0;
  double column_ = 0;
  double width_ = 0;
  double top_ = 0;
};

}  // namespace

std::string draw(const HeatFigure& figure, const FigureStyle& style) {
  return HeatDrawing(figure, style).run();
}

}  // namespace lockstep::figures
