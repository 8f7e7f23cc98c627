#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/lockstep/plot/plot.hpp"

namespace lockstep::cli {

enum class PlotKind : std::uint8_t { svg, text };

/// The gnuplot script of a plot, data included; it writes to standard output. Names and titles may
/// be any text. Throws Refusal where no point can be drawn.
[[nodiscard]] std::string plot_script(std::span<const PlotSeries> series, const PlotAxes& axes,
                                      PlotKind kind);

}  // namespace lockstep::cli
