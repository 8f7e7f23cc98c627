#include "tools/app/step/metrics/rank_classes.hpp"

#include <algorithm>

namespace lockstep::app {

std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step) {
  std::vector<ShownClass> out;
  for (const RankEquivalenceClass& each : step.classes)
    out.push_back({each, step.timeline.program->roles[each.role].name, {}});
  const std::vector<std::uint32_t>& representative_of = step.timeline.representative_of;
  for (std::size_t rank = 0; rank < representative_of.size(); ++rank) {
    auto& ranges = out[representative_of[rank]].ranges;
    const int number = static_cast<int>(rank);
    if (!ranges.empty() && ranges.back().second + 1 == number) {
      ranges.back().second = number;
    } else {
      ranges.emplace_back(number, number);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const ShownClass& a, const ShownClass& b) {
    return a.of.members > b.of.members;
  });
  return out;
}

}  // namespace lockstep::app
