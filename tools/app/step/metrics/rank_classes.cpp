#include "tools/app/step/metrics/rank_classes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "strategies/step/lowering/class_partings.hpp"

namespace lockstep::app {

namespace {

/// Of descriptions of speeds: "computes at 0.8 of the speed".
constexpr std::string_view kSpeed = "computes ";

bool has_own_speed(const RankEquivalenceClass& of) {
  return of.difference.starts_with(kSpeed);
}

/// Other differences of single classes say the same in many words: where links begin and end.
using Reason = std::tuple<std::size_t, std::int64_t, std::string>;

Reason reason_of(const RankEquivalenceClass& of) {
  const std::int64_t operation = of.parting ? static_cast<std::int64_t>(of.parting->operation) : -1;
  return {of.role, operation, has_own_speed(of) ? of.difference : std::string{}};
}

bool parts_before(const RankEquivalenceClass& a, const RankEquivalenceClass& b) {
  if (a.parting.has_value() != b.parting.has_value()) return a.parting.has_value();
  if (a.parting && a.parting->at != b.parting->at) return a.parting->at < b.parting->at;
  return a.parting && has_own_speed(a) && !has_own_speed(b);
}

}  // namespace

std::vector<ClassGroup> class_groups(std::vector<ShownClass> classes) {
  std::stable_sort(classes.begin(), classes.end(), [](const ShownClass& a, const ShownClass& b) {
    return parts_before(a.of, b.of);
  });
  std::vector<ClassGroup> out;
  std::map<Reason, std::size_t> places;
  for (const ShownClass& each : classes) {
    const auto [place, is_new] = places.try_emplace(reason_of(each.of), out.size());
    if (is_new) {
      out.push_back({each, 1, each.of.members});
      continue;
    }
    ClassGroup& group = out[place->second];
    ++group.classes;
    group.ranks += each.of.members;
  }
  return out;
}

namespace {

/// Representatives of roles are no classes.
bool simulates_all(const SimulatedTrainingStep& step) {
  return step.fidelity == Fidelity::all_ranks && step.timeline.representative_of.empty();
}

std::vector<ShownClass> without_ranges(const std::vector<RankEquivalenceClass>& classes,
                                       const SimulatedTrainingStep& step) {
  std::vector<ShownClass> out;
  for (const RankEquivalenceClass& each : classes)
    out.push_back({each, step.timeline.program->roles[each.role].name, {}});
  return out;
}

}  // namespace

std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step, const RankSpeeds& speeds) {
  std::vector<ShownClass> out;
  if (step.classes.empty() && simulates_all(step)) {
    const EqualTimes equal = equal_times(step.timeline);
    out = without_ranges(equal.classes, step);
    for (ShownClass& each : out)
      if (const auto own = speeds.find(each.of.representative); own != speeds.end())
        each.of.difference = description(own->second);
    for (std::size_t i = 0; i < equal.class_of.size(); ++i)
      add_rank(step.timeline.ranks[i].rank, out[equal.class_of[i]].ranges);
  } else {
    out = without_ranges(step.classes, step);
    const std::vector<std::uint32_t>& representative_of = step.timeline.representative_of;
    for (std::size_t rank = 0; rank < representative_of.size(); ++rank)
      add_rank(static_cast<int>(rank), out[representative_of[rank]].ranges);
  }
  std::stable_sort(out.begin(), out.end(), [](const ShownClass& a, const ShownClass& b) {
    return a.of.members > b.of.members;
  });
  return out;
}

std::vector<ClassReach> reach_of(const std::vector<ShownClass>& classes) {
  std::vector<ClassReach> parted;
  for (const ShownClass& each : classes)
    if (each.of.parting)
      parted.push_back({each.of.parting->at, each.of.representative, each.of.members});
  std::stable_sort(parted.begin(), parted.end(), [](const ClassReach& a, const ClassReach& b) {
    return std::pair{a.at, a.rank} < std::pair{b.at, b.rank};
  });
  std::vector<ClassReach> out;
  for (const ClassReach& each : parted) {
    const std::int64_t before = out.empty() ? 0 : out.back().ranks;
    if (out.empty() || out.back().at != each.at) out.push_back({each.at, each.rank, before});
    out.back().ranks += each.ranks;
  }
  return out;
}

ClassMerges merges_of(const std::vector<ShownClass>& classes) {
  ClassMerges out;
  for (const ShownClass& each : classes) {
    if (!each.of.parting || !each.of.parting->again) continue;
    (each.of.parting->later_ps == 0 ? out.same : out.shifted) += each.of.members;
    out.last = std::max(out.last, *each.of.parting->again);
  }
  return out;
}

}  // namespace lockstep::app
