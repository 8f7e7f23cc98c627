#pragma once

#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

struct MeasuredSplit {
  std::vector<Measured> fit{};
  std::vector<Measured> check{};
};

/// Two halves, always the same: of each group of runs, and of each source's tables of one
/// collective and GPU or of one kind and GPU, the runs and tables are put in order of size (the
/// model's parameters; ranks; the id), and the second, fourth, ... are kept to check with. So
/// neither half has sizes that the other lacks, and none is in both.
[[nodiscard]] MeasuredSplit split_measured(std::vector<Measured> all);

}  // namespace lockstep
