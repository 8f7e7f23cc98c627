#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/figures/frame.hpp"

namespace lockstep::figures {

/// What a stage does for a while. Times in seconds.
struct PipelineSlice {
  enum class Kind : std::uint8_t {
    forward,
    backward,        // input and weight gradients together
    input_gradient,  // of schedules that split the backward pass
    weight_gradient,
    optimizer,
    communication,  // a collective that computation waits for, between passes
  };
  Kind kind = Kind::forward;
  int microbatch = 0;
  int chunk = 0;  // model chunk on the stage
  double start = 0;
  double end = 0;
  double recompute = 0;  // of a backward pass: seconds of recomputation in it
  std::string name{};    // of communication: its group
};

struct PipelineRow {
  std::string name;  // "stage 3"
  std::vector<PipelineSlice> slices;
};

struct PipelineFigure {
  Heading heading;
  std::vector<PipelineRow> rows;
  double end = 0;  // of the step, seconds
  std::vector<std::string> notes{};
};

/// A box per pass with its microbatch number, and a letter for its model chunk where a stage has
/// several. Kinds differ in lightness and pattern, not in color alone. A step whose numbers need
/// more width than the figure has continues on a second and third line; where three are too few,
/// the whole step has no numbers, and the first and last passes are drawn again, enlarged.
[[nodiscard]] std::string draw(const PipelineFigure& figure, const FigureStyle& style = {});

}  // namespace lockstep::figures
