#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

/// A line of a plot, with a name in the legend.
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
};

/// What an axis counts, in SI units and bytes; it decides where the marks are and what they say.
enum class PlotUnit : std::uint8_t { ranks, bytes, seconds, bytes_per_second };

struct PlotAxis {
  std::string label;  // without the unit: that is at the marks
  PlotUnit unit = PlotUnit::ranks;
};

struct PlotAxes {
  std::string title;  // what, on which cluster, with how many ranks, under which network model
  PlotAxis x;
  PlotAxis y;
};

/// Draws on logarithmic axes with gnuplot: a picture where `target` is a file that ends in .svg,
/// text where it ends in .txt or is "-", which is standard output. What is not above zero has no
/// place on such axes and is left out. A file is written as a whole or not at all.
/// Throws UsageError for any other target, Refusal where gnuplot is missing or there is nothing to
/// draw, IoError where the target cannot be written.
void plot(std::span<const PlotSeries> series, const PlotAxes& axes, const std::string& target);

/// Throws what plot() would throw for this target, as far as that shows beforehand: to be asked
/// before a long computation.
void check_plot_target(const std::string& target);

}  // namespace lockstep::cli
