#pragma once

#include <cstdint>
#include <optional>
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

/// Whether its ranks have a speed of their own.
[[nodiscard]] bool has_own_speed(const RankEquivalenceClass& of);

/// The largest first, then by their first ranks. Of a step that was not folded they are the ranks
/// that have the same times throughout; none where ranks stand for their role.
[[nodiscard]] std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step,
                                                    const RankSpeeds& speeds);

/// Those of `step` with RankEquivalenceClass::parting from the times that the same ranks have in
/// `other`, a simulation of the same program; where ranks of a class were of several classes there,
/// several entries. `difference` is a speed of their own. None if ranks stand for their role in one
/// of both, or operations differ.
[[nodiscard]] std::optional<std::vector<ShownClass>> classes_against(
    const SimulatedTrainingStep& step, const SimulatedTrainingStep& other,
    const RankSpeeds& speeds);

/// How many ranks have had other times than those that their partings are from by an instant,
/// whatever the reason: a speed, their place, or a delay that has come to them.
struct ClassReach {
  TimePoint at;
  int rank = 0;            // the first of those that they reach then
  std::int64_t ranks = 0;  // until then in all
};

/// Where there are more of them, in order.
[[nodiscard]] std::vector<ClassReach> reach_of(const std::vector<ShownClass>& classes);

/// What became of the ranks whose times part.
struct ClassMerges {
  std::int64_t same = 0;     // have its times again, to the end
  std::int64_t shifted = 0;  // are later or earlier by the same to the end
  TimePoint last;            // the latest instant from which on one of them is so
};
[[nodiscard]] ClassMerges merges_of(const std::vector<ShownClass>& classes);

/// Classes of one role that part at the same operation for the same reason, for display.
struct ClassGroup {
  ShownClass first;  // the first to part
  std::size_t classes = 1;
  std::int64_t ranks = 0;
};

/// In the order in which they part, ranks with a speed of their own before others; then those that
/// do not part, the largest first.
[[nodiscard]] std::vector<ClassGroup> class_groups(std::vector<ShownClass> classes);

}  // namespace lockstep::app
