#include "strategies/step/lowering/class_partings.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/hash.hpp"

namespace lockstep {

PartingsFrom::PartingsFrom(const RankTimeline& usual)
    : usual_{&usual}, order_(usual.operations.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return usual.operations.end_of(a) < usual.operations.end_of(b);
  });
}

std::optional<ClassParting> PartingsFrom::of(const RankTimeline& own) const {
  const auto later = [&](std::uint32_t i) {
    return (own.operations.end_of(i) - usual_->operations.end_of(i)).ps();
  };
  ClassParting out;
  bool differs = false;
  for (const std::uint32_t i : order_) {
    if (later(i) == 0) continue;
    const TimePoint at = std::min(own.operations.end_of(i), usual_->operations.end_of(i));
    if (differs && at >= out.at) continue;
    out.at = at;
    out.operation = i;
    differs = true;
  }
  if (!differs) return std::nullopt;
  // From the last change of the difference on they are the same, apart from a shift.
  const std::size_t n = order_.size();
  std::size_t same = n - 1;
  while (same > 0 && later(order_[same - 1]) == later(order_[n - 1])) --same;
  out.later_ps = later(order_[n - 1]);
  if (same + 1 < n) out.again = own.operations.end_of(order_[same]);
  return out;
}

std::map<std::size_t, std::size_t> usual_classes(const std::vector<RankEquivalenceClass>& classes) {
  std::map<std::size_t, std::size_t> out;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto largest = out.try_emplace(classes[c].role, c).first;
    if (classes[c].members > classes[largest->second].members) largest->second = c;
  }
  return out;
}

void find_partings(const TrainingStepTimeline& timeline, std::vector<RankEquivalenceClass>& classes,
                   const std::vector<std::size_t>& places) {
  const auto times_of = [&](std::size_t c) -> const RankTimeline& {
    return timeline.ranks[places.empty() ? c : places[c]];
  };
  const std::map<std::size_t, std::size_t> usual = usual_classes(classes);
  std::map<std::size_t, PartingsFrom> partings;  // by role
  for (const auto& [role, largest] : usual) partings.try_emplace(role, times_of(largest));
  for (std::size_t c = 0; c < classes.size(); ++c)
    classes[c].parting = partings.at(classes[c].role).of(times_of(c));
}

namespace {

/// Of the times of a rank's operations, by role.
std::pair<std::size_t, std::uint64_t> history_of(const RankTimeline& rank) {
  std::uint64_t hash = 0;
  for (const TimePoint end : rank.operations.ends())
    hash = mix64(hash ^ static_cast<std::uint64_t>(end.ps()));
  return {rank.role, hash};
}

}  // namespace

EqualTimes equal_times(const TrainingStepTimeline& timeline) {
  EqualTimes out;
  std::vector<std::size_t> places;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> known;
  for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
    const RankTimeline& rank = timeline.ranks[i];
    const auto [found, is_new] =
        known.try_emplace(history_of(rank), static_cast<std::uint32_t>(out.classes.size()));
    out.class_of.push_back(found->second);
    if (!is_new) {
      ++out.classes[found->second].members;
      continue;
    }
    out.classes.push_back({.representative = rank.rank, .role = rank.role});
    places.push_back(i);
  }
  find_partings(timeline, out.classes, places);
  return out;
}

std::size_t distinct_histories(const TrainingStepTimeline& timeline) {
  std::vector<std::pair<std::size_t, std::uint64_t>> seen;
  for (const RankTimeline& rank : timeline.ranks) seen.push_back(history_of(rank));
  std::sort(seen.begin(), seen.end());
  return static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

}  // namespace lockstep
