#include "tools/lockstep/plot/plot_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "tools/lockstep/errors.hpp"

namespace lockstep::cli {

namespace {

/// Told apart by people who see colours differently (Okabe and Ito 2008, Color Universal Design),
/// without its yellow, which is too light for lines on white.
constexpr std::array<std::string_view, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#000000"};
/// gnuplot's numbers of filled and open markers that differ in shape.
constexpr std::array<int, 9> kMarkers = {7, 5, 9, 13, 11, 4, 6, 8, 12};
/// From the second round of colours on.
constexpr std::array<int, 3> kDashes = {1, 2, 4};

/// In single quotes, where gnuplot replaces nothing: a quote is doubled, control characters, which
/// could end the line, become spaces.
std::string gnuplot_string(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += static_cast<unsigned char>(c) < 0x20U || c == 0x7F ? ' ' : c;
  }
  return out + "'";
}

bool drawable(const PlotPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x > 0 && point.y > 0;
}

struct Span {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

struct Mark {
  double at = 0;
  std::string text;
};

/// "512 B", "64 KiB".
std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:g} {}", bytes, kUnits.at(unit));
}

/// "20 us", "5 GB/s": with a prefix for every three decades.
std::string decimal_text(double value, PlotUnit unit) {
  constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "u", "m", "", "k",
                                                          "M", "G", "T", "P", "E"};
  const int power = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  const int third = std::clamp(power >= 0 ? power / 3 : -((2 - power) / 3), -4, 6);
  return fmt::format("{:g} {}{}", std::round(value / std::pow(10, 3 * third) * 1e6) / 1e6,
                     kPrefixes.at(static_cast<std::size_t>(third + 4)),
                     unit == PlotUnit::seconds ? "s" : "B/s");
}

/// Powers of two, at most ten of them.
std::vector<Mark> binary_marks(const Span& span, PlotUnit unit) {
  const int first = static_cast<int>(std::ceil(std::log2(span.least) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(span.most) + 1e-9));
  int step = 1;
  while ((last - first) / step > 10) ++step;
  std::vector<Mark> out;
  for (int power = first; power <= last; power += step) {
    const double at = std::exp2(power);
    out.push_back({at, unit == PlotUnit::bytes ? bytes_text(at) : fmt::format("{:g}", at)});
  }
  return out;
}

/// 1, 2 and 5 times powers of ten, or the powers alone where those are too many.
std::vector<Mark> decimal_marks(const Span& span, PlotUnit unit) {
  std::vector<Mark> out;
  for (const bool all : {true, false}) {
    out.clear();
    const int last = static_cast<int>(std::floor(std::log10(span.most) + 1e-9));
    for (int power = static_cast<int>(std::floor(std::log10(span.least))); power <= last; ++power)
      for (const int digit : {1, 2, 5}) {
        const double at = digit * std::pow(10, power);
        if (at < span.least || at > span.most || (digit > 1 && !all)) continue;
        out.push_back({at, decimal_text(at, unit)});
      }
    if (out.size() <= 9) break;
  }
  return out;
}

bool is_binary(PlotUnit unit) {
  return unit == PlotUnit::ranks || unit == PlotUnit::bytes;
}

/// Some room at both ends; as far as the next power of ten where that is near.
Span with_room(Span span, PlotUnit unit) {
  Span out{span.least / 1.25, span.most * 1.25};
  if (is_binary(unit)) return out;
  constexpr double kNear = 3;
  const double below = std::pow(10, std::floor(std::log10(span.least)));
  const double above = std::pow(10, std::ceil(std::log10(span.most)));
  if (span.least / below <= kNear) out.least = std::min(out.least, below / 1.05);
  if (above / span.most <= kNear) out.most = std::max(out.most, above * 1.05);
  return out;
}

std::string axis_lines(char name, const PlotAxis& axis, Span span) {
  span = with_room(span, axis.unit);
  const auto marks =
      is_binary(axis.unit) ? binary_marks(span, axis.unit) : decimal_marks(span, axis.unit);
  std::string list;
  for (const Mark& mark : marks)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", gnuplot_string(mark.text), mark.at);
  return fmt::format(
      "set logscale {0} {1}\nset {0}range [{2}:{3}]\nset {0}tics ({4}) nomirror\n"
      "set {0}label {5} noenhanced\n",
      name, is_binary(axis.unit) ? 2 : 10, span.least, span.most, list, gnuplot_string(axis.label));
}

/// High enough for all names below one another, as many as there are.
std::string terminal_lines(PlotKind kind, std::size_t series) {
  if (kind == PlotKind::text)
    return "set terminal dumb noenhanced nofeed mono size 100,34\n"
           "set key outside bottom center horizontal noenhanced width 2\n";
  return fmt::format(
             "set terminal svg noenhanced size 960,{} dynamic font 'sans-serif,14' "
             "background '#ffffff'\n",
             std::max<std::size_t>(600, 130 + 28 * series)) +
         "set key outside right center vertical Left reverse noenhanced samplen 3 "
         "spacing 1.3\n"
         "set border 3 lw 1 lc rgb '#555555'\n"
         "set grid lt 1 lc rgb '#dddddd' lw 1\n";
}

std::string data_block(std::size_t index, const PlotSeries& series) {
  std::string out = fmt::format("$series{} << END\n", index);
  for (const PlotPoint& point : series.points)
    if (drawable(point)) out += fmt::format("{} {}\n", point.x, point.y);
  return out + "END\n";
}

std::string style_of(std::size_t index) {
  return fmt::format("lc rgb '{}' dt {} lw 2 pt {} ps 0.9", kColours.at(index % kColours.size()),
                     kDashes.at(index / kColours.size() % kDashes.size()),
                     kMarkers.at(index % kMarkers.size()));
}

}  // namespace

std::string plot_script(std::span<const PlotSeries> series, const PlotAxes& axes, PlotKind kind) {
  Span x;
  Span y;
  std::string data;
  std::string lines;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::ranges::none_of(series[i].points, drawable)) continue;
    for (const PlotPoint& point : series[i].points) {
      if (!drawable(point)) continue;
      x.take(point.x);
      y.take(point.y);
    }
    data += data_block(i, series[i]);
    lines += fmt::format("{}$series{} using 1:2 with linespoints {} title {}",
                         lines.empty() ? "plot " : ", \\\n     ", i, style_of(i),
                         gnuplot_string(series[i].name));
  }
  if (lines.empty()) throw Refusal("--plot: there is nothing above zero to draw");
  return fmt::format("set encoding utf8\n{}{}set title {} noenhanced\n{}{}{}\n", data,
                     terminal_lines(kind, series.size()), gnuplot_string(axes.title),
                     axis_lines('x', axes.x, x), axis_lines('y', axes.y, y), lines);
}

}  // namespace lockstep::cli
