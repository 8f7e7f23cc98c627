#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/program/timeline.hpp"
#include "strategies/step/lowering/fold_step.hpp"

namespace lockstep {

/// By role the largest class, the first of several, with which others are compared: an index.
[[nodiscard]] std::map<std::size_t, std::size_t> usual_classes(
    const std::vector<RankEquivalenceClass>& classes);

/// Compares the times of ranks with those of one, `usual`.
class PartingsFrom {
 public:
  /// Keeps a reference.
  explicit PartingsFrom(const RankTimeline& usual);
  /// How the times of a rank with as many operations part from them; none: they never do.
  [[nodiscard]] std::optional<ClassParting> of(const RankTimeline& own) const;

 private:
  const RankTimeline* usual_;
  std::vector<std::uint32_t> order_;  // operations by the time at which they end
};

/// Fills in RankEquivalenceClass::parting from the times of the representatives: `timeline.ranks`
/// in the order of `classes`, or at these `places`.
void find_partings(const TrainingStepTimeline& timeline, std::vector<RankEquivalenceClass>& classes,
                   const std::vector<std::size_t>& places = {});

/// Ranks of a timeline that was not folded whose operations all end at the same times, by role and
/// first rank, with their partings. `class_of`: of each of `timeline.ranks`.
struct EqualTimes {
  std::vector<RankEquivalenceClass> classes{};
  std::vector<std::uint32_t> class_of{};
};
[[nodiscard]] EqualTimes equal_times(const TrainingStepTimeline& timeline);

/// The number of different histories: sets of classes of one role whose operations all end at the
/// same times.
[[nodiscard]] std::size_t distinct_histories(const TrainingStepTimeline& timeline);

}  // namespace lockstep
