#pragma once

#include <string>

#include "tools/figures/curve_figure.hpp"

namespace lockstep::figures {

/// The figure as text of `columns` by `rows` characters and a legend: a letter at each point of a
/// curve, dots between them, * where curves meet.
[[nodiscard]] std::string draw_text(const CurveFigure& figure, int columns = 96, int rows = 24);

}  // namespace lockstep::figures
