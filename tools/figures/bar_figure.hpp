#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/figures/axis.hpp"
#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// A part of each bar.
struct BarPart {
  std::string name;
  std::string color = std::string{kColors[0]};
  Pattern pattern = Pattern::plain;
};

struct Bar {
  std::string name;
  std::vector<double> values;  // by part, from the left; none below zero
  std::string text{};          // behind the bar; empty: its sum
};

/// Horizontal bars from 0, each made of the same parts.
struct BarFigure {
  Heading heading;
  Axis axis;  // linear
  std::vector<BarPart> parts;
  std::vector<Bar> bars;
  std::optional<double> most{};  // end of the axis; none: from the data
  std::optional<double> line{};  // a value to compare with, marked over all bars
  std::string line_label{};
  bool shares = false;  // parts are labeled with their share of the bar where there is room
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const BarFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
