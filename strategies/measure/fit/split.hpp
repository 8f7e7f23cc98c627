#pragma once

#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

struct MeasuredSplit {
  std::vector<Measured> fit{};
  std::vector<Measured> check{};
};

/// A deterministic fit and hold-out split. Within each group of runs, and within each source's
/// tables of one collective and GPU or one kind and GPU, elements are sorted by size (parameters;
/// ranks; id), and every second one is held out. Both halves cover all sizes and are disjoint.
[[nodiscard]] MeasuredSplit split_measured(std::vector<Measured> all);

}  // namespace lockstep
