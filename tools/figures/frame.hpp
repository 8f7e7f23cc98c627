#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tools/figures/svg.hpp"

/// What all figures share: colors, the heading, legends and notes.
namespace lockstep::figures {

/// Distinct for color-blind readers (Okabe and Ito 2008, Color Universal Design), without their
/// yellow, which is too light for lines on white.
inline constexpr std::array<std::string_view, 6> kColors = {"#0072B2", "#D55E00", "#009E73",
                                                            "#CC79A7", "#E69F00", "#56B4E9"};
inline constexpr std::string_view kText = "#222222";
inline constexpr std::string_view kSoftText = "#555555";
inline constexpr std::string_view kGridColor = "#dddddd";
inline constexpr std::string_view kAxisColor = "#555555";

struct FigureStyle {
  double width = 800;               // pixels, at least; figures with much to show are wider
  std::string prefix = "lockstep";  // of ids; one of its own for each figure of a page
  bool compact = false;  // without tooltips, which make up half of figures with thousands of them
};

struct Heading {
  std::string title;                   // what is compared or shown
  std::vector<std::string> details{};  // below it: cluster, configuration, result
};

/// Lighter by mixing with white: 0 the color, 1 white. `color`: #rrggbb.
[[nodiscard]] std::string lighter(std::string_view color, double white);
/// White or dark, whichever can be read on the color.
[[nodiscard]] std::string_view readable_on(std::string_view color);

/// Draws title and details from the top; returns the height taken.
[[nodiscard]] double draw_heading(Svg& svg, const Heading& heading, double left, double width);

/// Where a plot over the step stands, as an attribute for scripts that mark a time in it: seconds
/// at its left and right end, then its left end, top, width and height in pixels.
[[nodiscard]] std::string time_attribute(double from, double to, Point corner, Point size);

/// Draws wrapped notes below `top`; returns the height taken.
[[nodiscard]] double draw_notes(Svg& svg, const std::vector<std::string>& notes, Point corner,
                                double width);

struct LegendEntry {
  std::string fill;  // as Svg::fill() returns it
  std::string text;
};

/// Samples with their texts in rows no wider than `width`; returns the height taken.
[[nodiscard]] double draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, Point corner,
                                 double width);

/// Places for centers of texts of height `gap`, near where they are wanted, between `from` and
/// `to`, in the same order, without overlap as long as there is room.
[[nodiscard]] std::vector<double> spread(const std::vector<double>& wanted, double gap, double from,
                                         double to);

}  // namespace lockstep::figures
