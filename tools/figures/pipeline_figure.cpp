#include "tools/figures/pipeline_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "tools/figures/axis.hpp"
#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

using Kind = PipelineSlice::Kind;
constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::communication) + 1;

struct KindLook {
  std::string_view name;
  std::string_view color;
  Pattern pattern;
};

constexpr std::array<KindLook, kKinds> kLooks = {{
    {"forward", "#a8cdec", Pattern::plain},
    {"backward", "#1f5fa8", Pattern::plain},
    {"backward: input gradients", "#1f5fa8", Pattern::plain},
    {"backward: weight gradients", "#7cc49a", Pattern::stripes},
    {"optimizer", "#e8b04a", Pattern::dots},
    {"exposed communication between passes", "#ffffff", Pattern::bars},
}};

constexpr std::string_view kIdleColor = "#f7f7f7";
constexpr double kMostWidth = 960;  // numbers can be read at two thirds of it, too
constexpr double kMostLines = 3;
constexpr std::size_t kMostTooltips = 3000;
constexpr double kMostNumberSize = 12;
constexpr double kLeastNumberSize = 8.5;

bool has_number(Kind kind) {
  return kind < Kind::optimizer;
}

/// Letters for chunks: a to z, then none.
std::string chunk_letter(int chunk) {
  return chunk < 26 ? std::string(1, static_cast<char>('a' + chunk)) : std::string{};
}

class PipelineDrawing {
 public:
  PipelineDrawing(const PipelineFigure& figure, const FigureStyle& style)
      : figure_{figure}, compact_{style.compact}, svg_{figure.heading.title, style.prefix} {
    double names = 0;
    std::vector<double> passes;
    for (const PipelineRow& row : figure.rows) {
      names = std::max(names, text_width(row.name, 13));
      for (const PipelineSlice& slice : row.slices) {
        // Slices of less than a thousandth of the step are hard to see.
        if (slice.end - slice.start > figure.end / 1000 || has_number(slice.kind))
          used_.at(static_cast<std::size_t>(slice.kind)) = true;
        recomputes_ = recomputes_ || slice.recompute > 0;
        chunks_ = std::max(chunks_, slice.chunk + 1);
        microbatches_ = std::max(microbatches_, slice.microbatch + 1);
        ++slices_;
        if (has_number(slice.kind)) passes.push_back(slice.end - slice.start);
      }
    }
    left_ = 16 + names + 10;
    std::sort(passes.begin(), passes.end());
    typical_ = passes.empty() ? 0 : passes[passes.size() / 4];
    const double wanted = typical_ > 0 ? number_width() * figure.end / typical_ : 0;
    width_ = std::clamp(left_ + wanted + 24, style.width, std::max(style.width, kMostWidth));
    plot_ = width_ - left_ - 24;
    const double lines = std::ceil(wanted / plot_);
    lines_ = lines <= kMostLines ? std::max(1, static_cast<int>(lines)) : 1;
    row_ = figure.rows.size() > 20 ? 20 : 30;
  }

  std::string run() {
    double y = draw_heading(svg_, figure_.heading, 16, width_ - 32);
    y += draw_legend(svg_, legend(), {16, y}, width_ - 32);
    const double line = figure_.end / lines_;
    for (int i = 0; i < lines_; ++i)
      y = draw_panel({line * i, line * (i + 1)}, y, i > 0 ? "continued" : "");
    if (lines_ == 1) y = draw_ends(y);
    std::vector<std::string> notes = figure_.notes;
    if (compact_) notes.emplace_back("Times of single passes are left out to keep the page small.");
    return svg_.finish({width_, y + draw_notes(svg_, notes, {16, y}, width_ - 32) + 12});
  }

 private:
  double draw_ends(double y) {
    // A typical pass is too narrow for its number: both ends of the step, enlarged.
    const double zoom = typical_ > 0 ? plot_ * typical_ / 20 : figure_.end;
    if (typical_ > 0 && typical_ / figure_.end * plot_ < number_width() && zoom < figure_.end / 2) {
      y = draw_panel({0, zoom}, y + 8, "Start of the step, enlarged");
      y = draw_panel({figure_.end - zoom, figure_.end}, y + 8, "End of the step, enlarged");
    }
    return y;
  }

  [[nodiscard]] double number_width() const {
    const std::string longest = std::to_string(std::max(0, microbatches_ - 1));
    return text_width(longest + (chunks_ > 1 ? "a" : ""), kLeastNumberSize) + 3;
  }

  [[nodiscard]] std::vector<LegendEntry> legend() {
    std::vector<LegendEntry> out;
    for (std::size_t i = 0; i < kKinds; ++i)
      if (used_.at(i))
        out.push_back({fill_of(static_cast<Kind>(i), 0), std::string{kLooks.at(i).name}});
    if (recomputes_) out.push_back({recompute_fill(), "of which recomputation"});
    out.push_back({std::string{kIdleColor}, "idle"});
    return out;
  }

  [[nodiscard]] std::string color_of(Kind kind, int chunk) const {
    const KindLook& look = kLooks.at(static_cast<std::size_t>(kind));
    if (!has_number(kind) || chunks_ < 2) return std::string{look.color};
    return lighter(look.color, 0.45 * chunk / (chunks_ - 1));
  }

  [[nodiscard]] std::string fill_of(Kind kind, int chunk) {
    const KindLook& look = kLooks.at(static_cast<std::size_t>(kind));
    return svg_.fill(color_of(kind, chunk), look.pattern, "#555555");
  }

  [[nodiscard]] std::string recompute_fill() {
    return svg_.fill("#f3d9a4", Pattern::grid, "#7a5200");
  }

  /// Rows over a part of the step with an axis; returns where it ends.
  double draw_panel(Range part, double y, std::string_view title) {
    part_ = part;
    if (!title.empty()) {
      svg_.text({left_, y + 12}, title, {.size = 13, .bold = true});
      y += 20;
    }
    const double bottom = y + row_ * static_cast<double>(figure_.rows.size()) + 4;
    svg_.begin("panel", title, time_attribute(part.from, part.to, {left_, y}, {plot_, bottom - y}));
    draw_axis(y, bottom);
    for (const PipelineRow& row : figure_.rows) {
      svg_.begin("stage");
      svg_.text({left_ - 8, y + row_ / 2 + 4}, row.name, {.size = 13, .anchor = Anchor::end});
      draw_row(row, y);
      svg_.end();
      y += row_;
    }
    svg_.end();
    return bottom + 48;
  }

  /// Of slices of one kind that end in the same pixel, the first: the others could not be seen.
  void draw_row(const PipelineRow& row, double y) {
    std::array<double, kKinds> drawn;
    drawn.fill(-1);
    for (const PipelineSlice& slice : row.slices) {
      if (slice.end <= part_.from || slice.start >= part_.to) continue;
      double& last = drawn.at(static_cast<std::size_t>(slice.kind));
      if (place(slice.end) - place(slice.start) < 1 && std::floor(place(slice.end)) == last)
        continue;
      last = std::floor(place(slice.end));
      if (is_plain(slice)) {
        narrow_.try_emplace(fill_of(slice.kind, slice.chunk), y + row_ / 2)
            .first->second.add(place(slice.start), place(slice.end));
      } else {
        draw_slice(row, slice, y);
      }
    }
    for (const auto& [fill, boxes] : narrow_) svg_.boxes(boxes, fill, row_ - 4);
    narrow_.clear();
  }

  /// Too narrow for a border, a number and a strip of recomputation that could be seen, in a chart
  /// without tooltips.
  [[nodiscard]] bool is_plain(const PipelineSlice& slice) const {
    const double wide = place(slice.end) - place(slice.start);
    return has_no_tooltips() && wide < (slice.recompute > 0 ? 2 : 4);
  }

  [[nodiscard]] double place(double seconds) const {
    return left_ + plot_ * position(std::clamp(seconds, part_.from, part_.to), part_, false);
  }

  void draw_axis(double top, double bottom) {
    svg_.rect({left_, top}, {plot_, bottom - top}, kIdleColor);
    for (const Mark& mark : axis_marks(part_, {"Time", Unit::seconds, false}, 9)) {
      const double x = place(mark.at);
      svg_.line({x, top}, {x, bottom + 4}, {kGridColor, 1, {}});
      svg_.text({x, bottom + 18}, mark.text, {.size = 12, .anchor = Anchor::middle});
    }
    svg_.line({left_, bottom}, {left_ + plot_, bottom}, {kAxisColor, 1, {}});
    svg_.text({left_ + plot_ / 2, bottom + 37}, "Time", {.size = 13, .anchor = Anchor::middle});
  }

  /// Where they would make the file huge.
  [[nodiscard]] bool has_no_tooltips() const { return compact_ || slices_ > kMostTooltips; }

  [[nodiscard]] std::string tooltip(const PipelineRow& row, const PipelineSlice& slice) const {
    if (has_no_tooltips()) return {};
    std::string what{kLooks.at(static_cast<std::size_t>(slice.kind)).name};
    if (slice.kind == Kind::communication) what = slice.name + " communication";
    if (has_number(slice.kind)) {
      what += fmt::format(", microbatch {}", slice.microbatch);
      if (chunks_ > 1) what += fmt::format(", chunk {}", slice.chunk);
    }
    return fmt::format("{}: {}, {} to {}", row.name, what,
                       value_text(slice.start, Unit::seconds, 5),
                       value_text(slice.end, Unit::seconds, 5));
  }

  void draw_slice(const PipelineRow& row, const PipelineSlice& slice, double y) {
    const double from = place(slice.start);
    const double wide = place(slice.end) - from;
    const double top = y + 2;
    const double high = row_ - 4;
    const std::string words = tooltip(row, slice);
    if (!words.empty()) svg_.begin("slice", words);
    svg_.rect({from, top}, {wide, high}, fill_of(slice.kind, slice.chunk),
              wide > 4 ? R"(stroke="#ffffff" stroke-width="0.8")" : "");
    if (slice.recompute > 0) {
      const double share = slice.recompute / (slice.end - slice.start);
      svg_.rect({from, top + high * 0.72}, {wide * share, high * 0.28}, recompute_fill());
    }
    if (has_number(slice.kind)) draw_number(slice, {from + wide / 2, top}, {wide, high});
    if (!words.empty()) svg_.end();
  }

  /// Above the strip of recomputation; nothing where it does not fit.
  void draw_number(const PipelineSlice& slice, Point middle, Point room) {
    std::string text = std::to_string(slice.microbatch);
    if (chunks_ > 1) text += chunk_letter(slice.chunk);
    const double height = slice.recompute > 0 ? room.y * 0.72 : room.y;
    double size = std::min(kMostNumberSize, height - 4);
    while (size >= kLeastNumberSize && text_width(text, size) + 2 > room.x) size -= 0.5;
    if (size < kLeastNumberSize) return;
    const std::string color = color_of(slice.kind, slice.chunk);
    const double base = middle.y + height / 2 + size * 0.36;
    if (kLooks.at(static_cast<std::size_t>(slice.kind)).pattern != Pattern::plain) {
      const double wide = text_width(text, size);
      svg_.rect({middle.x - wide / 2 - 1, base - size * 0.85}, {wide + 2, size}, color);
    }
    svg_.text({middle.x, base}, text,
              {.size = size, .anchor = Anchor::middle, .color = readable_on(color)});
  }

  const PipelineFigure& figure_;
  bool compact_;
  Svg svg_;
  std::array<bool, kKinds> used_{};
  bool recomputes_ = false;
  int chunks_ = 1;
  int microbatches_ = 1;
  std::size_t slices_ = 0;
  double typical_ = 0;  // seconds of a short pass: a quarter is shorter
  double left_ = 0;
  double width_ = 0;
  double plot_ = 0;
  double row_ = 0;
  int lines_ = 1;  // that the step takes
  Range part_;
  std::map<std::string, BoxRow> narrow_{};  // by fill: the narrow slices of a row
};

}  // namespace

std::string draw(const PipelineFigure& figure, const FigureStyle& style) {
  return PipelineDrawing(figure, style).run();
}

}  // namespace lockstep::figures
