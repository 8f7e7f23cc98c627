#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/figures/frame.hpp"

namespace lockstep::figures {

struct HeatCell {
  enum class Kind : std::uint8_t {
    found,    // a value
    bounded,  // no value better than this
    refused,  // none, and why
    empty,
  };
  Kind kind = Kind::empty;
  double shade = 0;     // 0 the best, 1 the worst: the color of `found` and `bounded`
  std::string text{};   // "3.28 s", "≥ 4.1 s", "memory"
  std::string more{};   // below it
  std::string title{};  // tooltip
  bool best = false;    // with a frame
};

/// A table of colored cells.
struct HeatFigure {
  Heading heading;
  std::string row_label;
  std::string column_label;
  std::vector<std::string> rows;     // from the top
  std::vector<std::string> columns;  // from the left
  std::vector<HeatCell> cells;       // row by row
  std::string found_name = "best found";
  std::string bounded_name = "lower bound: cannot be better";
  std::string refused_name = "no layout";
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const HeatFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
