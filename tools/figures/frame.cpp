#include "tools/figures/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tools/figures/text_width.hpp"

namespace lockstep::figures {

namespace {

constexpr double kTitleSize = 17;
constexpr double kDetailSize = 13;
constexpr double kNoteSize = 12;

std::array<int, 3> channels(std::string_view color) {
  std::array<int, 3> out{};
  for (std::size_t i = 0; i < 3; ++i)
    out.at(i) =
        static_cast<int>(std::strtol(std::string{color.substr(1 + 2 * i, 2)}.c_str(), nullptr, 16));
  return out;
}

}  // namespace

std::string lighter(std::string_view color, double white) {
  std::string out = "#";
  for (const int channel : channels(color))
    out += fmt::format("{:02x}", static_cast<int>(std::lround(channel + (255 - channel) * white)));
  return out;
}

std::string_view readable_on(std::string_view color) {
  const auto [red, green, blue] = channels(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? kText : "#ffffff";
}

double draw_heading(Svg& svg, const Heading& heading, double left, double width) {
  double y = 12;
  for (const std::string& line : wrapped(heading.title, kTitleSize, width, true)) {
    y += kTitleSize * 1.25;
    svg.text({left, y}, line, {.size = kTitleSize, .bold = true});
  }
  y += 2;
  for (const std::string& detail : heading.details)
    for (const std::string& line : wrapped(detail, kDetailSize, width)) {
      y += kDetailSize * 1.4;
      svg.text({left, y}, line, {.size = kDetailSize, .color = kSoftText});
    }
  return y + 12;
}

std::string time_attribute(double from, double to, Point corner, Point size) {
  return fmt::format(R"(data-time="{} {} {} {} {} {}")", from, to, coordinate(corner.x),
                     coordinate(corner.y), coordinate(size.x), coordinate(size.y));
}

double draw_notes(Svg& svg, const std::vector<std::string>& notes, Point corner, double width) {
  double y = corner.y;
  for (const std::string& note : notes)
    for (const std::string& line : wrapped(note, kNoteSize, width)) {
      y += kNoteSize * 1.4;
      svg.text({corner.x, y}, line, {.size = kNoteSize, .color = kSoftText});
    }
  return y - corner.y;
}

double draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, Point corner, double width) {
  constexpr double kRow = 21;
  constexpr Point kSample{22, 14};
  constexpr double kSize = 13;
  double x = corner.x;
  double y = corner.y;
  for (const LegendEntry& entry : entries) {
    const double wide = kSample.x + 7 + text_width(entry.text, kSize) + 18;
    if (x > corner.x && x + wide - 18 > corner.x + width) {
      x = corner.x;
      y += kRow;
    }
    svg.begin("legend");
    svg.rect({x, y}, kSample, entry.fill, R"(stroke="#555555" stroke-width="0.7")");
    svg.text({x + kSample.x + 7, y + 12}, entry.text, {.size = kSize});
    svg.end();
    x += wide;
  }
  return entries.empty() ? 0 : y + kRow + 6 - corner.y;
}

std::vector<double> spread(const std::vector<double>& wanted, double gap, double from, double to) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> out(wanted.size());
  double next = from;
  for (const std::size_t i : order) {
    out[i] = std::max(wanted[i], next);
    next = out[i] + gap;
  }
  std::reverse(order.begin(), order.end());
  double last = to;
  for (const std::size_t i : order) {
    out[i] = std::min(out[i], last);
    last = out[i] - gap;
  }
  return out;
}

}  // namespace lockstep::figures
