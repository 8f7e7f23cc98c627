#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/symmetry/fold.hpp"

/// When the times of equivalence classes part, and when they are the same again: from the ends of
/// their steps (FoldReport::step_ends).
namespace lockstep {

/// When the ends of a rank's steps part from those of another with as many.
struct StepParting {
  TimePoint at;               // the earlier end of the first step that ends at another time
  std::int64_t step = 0;      // that step
  std::int64_t later_ps = 0;  // of its last step than that of the other; negative: earlier
  /// The end of the step from which on all ends are later by this; none: only the last is.
  std::optional<TimePoint> same_from{};
  std::int64_t same_step = 0;
  friend bool operator==(const StepParting&, const StepParting&) = default;
};

/// None: all steps end at the same times.
[[nodiscard]] std::optional<StepParting> parting_of(const StepEnds& own, const StepEnds& usual);

/// Of one class, compared with its usual rank.
struct ClassStepParting {
  /// In the class with most members of those of its call with as many steps; of several such
  /// ranks the one whose steps end earliest, added up: the last that a delay reaches.
  int usual = 0;
  std::int64_t members = 0;            // that ever differ from it
  std::optional<StepParting> first{};  // of the first of these to differ
  std::optional<StepParting> last{};   // of the last; another one only with FoldReport::by_rank
};

struct StepPartings {
  std::vector<ClassStepParting> classes;  // as FoldReport::classes
  std::uint64_t distinct = 0;             // different sequences of ends
  /// Steps by whose ends more ranks have differed from their usual one, and how many have; those
  /// by which their number has at least doubled, and the last.
  std::vector<std::pair<std::int64_t, std::int64_t>> spread;
};

/// Empty without step_ends.
[[nodiscard]] std::optional<StepPartings> find_step_partings(const FoldReport& report);

}  // namespace lockstep
