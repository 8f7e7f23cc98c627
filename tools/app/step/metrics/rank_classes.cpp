#include "tools/app/step/metrics/rank_classes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

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
