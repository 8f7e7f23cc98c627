#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/ranks/rank_ranges.hpp"

#include "strategies/step/simulate.hpp"

namespace lockstep::app {

/// An equivalence class of a folded step, for display.
struct ShownClass {
  RankEquivalenceClass of;
  std::string role;  // "stage 0"
  RankRanges ranges;
};

/// The largest first, then by their first ranks. Of a step that was not folded they are the ranks
/// that have the same times throughout; none where ranks stand for their role.
[[nodiscard]] std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step,
                                                    const RankSpeeds& speeds);

/// How many ranks have had other times than the largest class of their role by an instant, whatever
/// the reason: a speed, their place, or a delay that has come to them.
struct ClassReach {
  TimePoint at;
  int rank = 0;            // the first of those that they reach then
  std::int64_t ranks = 0;  // until then in all
};

/// Where there are more of them, in order.
[[nodiscard]] std::vector<ClassReach> reach_of(const std::vector<ShownClass>& classes);

/// What became of the ranks whose times part from those of the largest class of their role.
struct ClassMerges {
  std::int64_t same = 0;     // have its times again, to the end
  std::int64_t shifted = 0;  // are later or earlier by the same to the end
  TimePoint last;            // the latest instant from which on one of them is so
};
[[nodiscard]] ClassMerges merges_of(const std::vector<ShownClass>& classes);

/// Classes of one role that part from the largest class of the role at the same operation for the
/// same reason, for display.
struct ClassGroup {
  ShownClass first;  // the first to part
  std::size_t classes = 1;
  std::int64_t ranks = 0;
};

/// In the order in which they part, ranks with a speed of their own before others; then those that
/// have the times of the largest class of the role, which comes first.
[[nodiscard]] std::vector<ClassGroup> class_groups(std::vector<ShownClass> classes);

}  // namespace lockstep::app
