#pragma once

#include <string>
#include <vector>

#include "tools/figures/axis.hpp"
#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// A result with one of its inputs at either end of what it may be.
struct TornadoBar {
  std::string name;  // of the input, with its spread
  double low = 0;    // the result with the better value; at most TornadoFigure::middle
  double high = 0;   // with the worse one
};

/// Bars from low to high around the result as it is: which input dominates its uncertainty.
struct TornadoFigure {
  Heading heading;
  Axis axis;          // linear
  double middle = 0;  // the result as it is
  std::string middle_label{};
  std::string low_label = "better value";
  std::string high_label = "worse value";
  std::vector<TornadoBar> bars{};  // from the top
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const TornadoFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
