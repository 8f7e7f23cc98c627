#pragma once

#include <string>
#include <vector>

#include "tools/figures/axis.hpp"
#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// A point of a scatter.
struct ScatterPoint {
  Point at;
  std::string name;     // tooltip
  bool marked = false;  // of the front: in color, with a number
};

/// Points, and the front of the best of them.
struct ScatterFigure {
  Heading heading;
  Axis x;
  Axis y;
  std::vector<ScatterPoint> points;
  bool more_x = false;  // whether more of x is better
  bool more_y = false;
  bool line = true;  // marked points in order of x are joined by a staircase
  std::string marked_name = "front";
  std::string other_name = "other layouts";
  std::vector<std::string> notes{};
};

/// Marked points with room between them are numbered by x and named below the figure.
[[nodiscard]] std::string draw(const ScatterFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
