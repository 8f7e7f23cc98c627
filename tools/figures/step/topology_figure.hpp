#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// Equal elements of a cluster, drawn as one box.
struct TopologyKind {
  std::string name;  // "gpu"
  std::size_t count = 0;
  int level = 0;  // from 0 at the bottom
};

/// Links of one direction between two kinds, drawn as one line.
struct TopologyLinks {
  std::size_t from = 0;  // index into TopologyFigure::kinds
  std::size_t to = 0;
  std::size_t count = 0;  // with traffic; 0: drawn thin and dashed
  double busiest = 0;     // utilization over the step, 0 to 1
  std::string text{};     // tooltip
};

/// The kinds of elements of a cluster in levels, and how busy the links between them are: the width
/// of a line grows with utilization, which stands next to it.
struct TopologyFigure {
  Heading heading;
  std::vector<TopologyKind> kinds;
  std::vector<TopologyLinks> links;
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const TopologyFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
