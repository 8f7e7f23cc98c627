#pragma once

#include <string>
#include <vector>

#include "tools/figures/bar_figure.hpp"
#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// A part of a row: from `first` to `last` of equal parts of the time.
struct TrackSlice {
  std::size_t first = 0;
  std::size_t last = 0;  // exclusive
  std::size_t part = 0;  // index into TrackFigure::parts
  double height = 1;     // of the row, 0 to 1
};

struct TrackRow {
  std::string name;    // "stage 0, compute"
  std::string text{};  // tooltip: what the row comes to
  std::vector<TrackSlice> slices{};
};

/// Rows over the time of a step, each divided into equal parts. A part's height says how much of it
/// is in use; its fill says by what.
struct TrackFigure {
  Heading heading;
  std::vector<BarPart> parts;
  std::vector<TrackRow> rows;
  std::size_t divisions = 0;  // of the time
  double end = 0;             // seconds
  std::vector<std::string> notes{};
};

[[nodiscard]] std::string draw(const TrackFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
