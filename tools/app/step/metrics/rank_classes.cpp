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

}  // namespace

bool has_own_speed(const RankEquivalenceClass& of) {
  return of.difference.starts_with(kSpeed);
}

namespace {

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

/// Ranks by classes, and where their times are.
struct ClassedRanks {
  std::vector<RankEquivalenceClass> classes{};
  std::vector<std::size_t> times{};  // of each class: its place in `timeline.ranks`
  std::vector<std::pair<int, std::uint32_t>> class_of{};  // ranks in order, each with its class
};

ClassedRanks classed_ranks(const SimulatedTrainingStep& step) {
  ClassedRanks out;
  const TrainingStepTimeline& timeline = step.timeline;
  if (!step.classes.empty()) {
    out.classes = step.classes;
    for (std::size_t c = 0; c < out.classes.size(); ++c) out.times.push_back(c);
    for (std::size_t rank = 0; rank < timeline.representative_of.size(); ++rank)
      out.class_of.emplace_back(static_cast<int>(rank), timeline.representative_of[rank]);
  } else if (simulates_all(step)) {
    EqualTimes equal = equal_times(timeline);
    out.classes = std::move(equal.classes);
    out.times.resize(out.classes.size());
    for (std::size_t i = timeline.ranks.size(); i-- > 0;) out.times[equal.class_of[i]] = i;
    for (std::size_t i = 0; i < timeline.ranks.size(); ++i)
      out.class_of.emplace_back(timeline.ranks[i].rank, equal.class_of[i]);
  }
  return out;
}

void largest_first(std::vector<ShownClass>& classes) {
  std::stable_sort(classes.begin(), classes.end(), [](const ShownClass& a, const ShownClass& b) {
    return a.of.members > b.of.members;
  });
}

void add_own_speeds(const RankSpeeds& speeds, std::vector<ShownClass>& to) {
  for (ShownClass& each : to)
    if (const auto own = speeds.find(each.of.representative); own != speeds.end())
      each.of.difference = description(own->second);
}

}  // namespace

std::vector<ShownClass> shown_classes(const SimulatedTrainingStep& step, const RankSpeeds& speeds) {
  const ClassedRanks ranks = classed_ranks(step);
  std::vector<ShownClass> out;
  for (const RankEquivalenceClass& each : ranks.classes)
    out.push_back({each, step.timeline.program->roles[each.role].name, {}});
  if (step.classes.empty()) add_own_speeds(speeds, out);
  for (const auto& [rank, place] : ranks.class_of) add_rank(rank, out[place].ranges);
  largest_first(out);
  return out;
}

std::optional<std::vector<ShownClass>> classes_against(const SimulatedTrainingStep& step,
                                                       const SimulatedTrainingStep& other,
                                                       const RankSpeeds& speeds) {
  if (!simulates_all(step) && step.classes.empty()) return std::nullopt;
  if (!simulates_all(other) && other.classes.empty()) return std::nullopt;
  const ClassedRanks own = classed_ranks(step);
  const ClassedRanks theirs = classed_ranks(other);
  if (own.class_of.size() != theirs.class_of.size()) return std::nullopt;
  std::map<std::uint32_t, PartingsFrom> partings;  // by class of `other`
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  std::vector<ShownClass> out;
  for (std::size_t i = 0; i < own.class_of.size(); ++i) {
    const auto& [rank, c] = own.class_of[i];
    const auto& [same_rank, usual] = theirs.class_of[i];
    const RankTimeline& times = step.timeline.ranks[own.times[c]];
    const RankTimeline& usual_times = other.timeline.ranks[theirs.times[usual]];
    if (rank != same_rank || times.operations.size() != usual_times.operations.size())
      return std::nullopt;
    const auto [place, is_new] = places.try_emplace({c, usual}, out.size());
    if (is_new) {
      // Of how it differs from others of its role nothing is said: only a speed is a change.
      RankEquivalenceClass of{.representative = rank, .role = own.classes[c].role, .members = 0};
      of.parting = partings.try_emplace(usual, usual_times).first->second.of(times);
      out.push_back({std::move(of), step.timeline.program->roles[times.role].name, {}});
    }
    ShownClass& shown = out[place->second];
    ++shown.of.members;
    add_rank(rank, shown.ranges);
  }
  add_own_speeds(speeds, out);
  largest_first(out);
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
