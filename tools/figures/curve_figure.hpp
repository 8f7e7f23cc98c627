#pragma once

#include <string>
#include <vector>

#include "tools/figures/axis.hpp"
#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// Curves drawn in color with a label at their end.
inline constexpr std::size_t kLabeledCurves = 6;

struct Curve {
  enum class Kind : std::uint8_t {
    labeled,   // in color, at most kLabeledCurves; further ones are drawn as `other`
    other,     // gray, named below the figure
    bound,     // dashed black: no value can be better
    measured,  // hollow black points without a line
  };
  std::string name;
  std::vector<Point> points;  // in order of x
  Kind kind = Kind::labeled;
};

/// A value of x at which something changes, such as the fastest algorithm.
struct Crossing {
  double x = 0;
  std::string label;
};

struct CurveFigure {
  Heading heading;
  Axis x;
  Axis y;
  std::vector<Curve> curves;
  std::vector<Crossing> crossings{};
  std::vector<std::string> notes{};
};

/// Points that cannot be drawn (not finite; not above zero on a logarithmic axis) are left out.
/// Errors: none; a figure without points has axes only.
[[nodiscard]] std::string draw(const CurveFigure& figure, const FigureStyle& style = {});

[[nodiscard]] bool is_drawable(const Point& point, const CurveFigure& figure);

/// Whether any point can be drawn.
[[nodiscard]] bool has_points(const CurveFigure& figure);

}  // namespace lockstep::figures
