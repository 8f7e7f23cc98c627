#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// A GPU, NIC or switch.
struct ClusterElement {
  std::string name;     // tooltip: "node0/gpu3"
  std::string label{};  // within its box, if there is room: "3"
  std::size_t row = 0;  // index into ClusterFigure::rows
  int node = -1;        // -1: of the fabric
};

/// One direction of a cable.
struct ClusterCable {
  std::size_t from = 0;  // index into ClusterFigure::elements
  std::size_t to = 0;
  double use = 0;        // share of the bandwidth over the step
  bool carries = false;  // any traffic
  std::uint32_t id = 0;  // for scripts: data-link="#17"
  std::string text{};    // tooltip
};

/// How many nodes there are to a line, and how many lines, of a torus.
struct ClusterGrid {
  std::size_t columns = 0;
  std::size_t lines = 0;
};

/// All elements of a cluster and the links between them. Color and width of a link say how much of
/// its bandwidth is in use.
struct ClusterFigure {
  Heading heading;
  std::vector<std::string> rows;  // the highest first; those of the fabric, then those of nodes
  std::vector<ClusterElement> elements;
  std::vector<ClusterCable> cables;
  /// Of elements in one row: on a grid, or on a circle instead of a line.
  ClusterGrid grid{};
  bool circle = false;
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const ClusterFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
