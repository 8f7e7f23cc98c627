#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// Bytes by category from a time on, until the next.
struct MemorySample {
  double time = 0;            // seconds
  std::vector<double> bytes;  // by category
};

struct MemoryFigure {
  Heading heading;
  std::vector<std::string> categories;  // from the bottom
  std::vector<MemorySample> samples;    // times rise
  double end = 0;                       // seconds
  std::optional<double> capacity{};     // bytes
  std::vector<std::string> notes{};
};

/// Stacked areas over time with the peak and the capacity marked. Of samples closer than a pixel
/// the largest is drawn.
[[nodiscard]] std::string draw(const MemoryFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
