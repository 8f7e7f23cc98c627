#include "tools/app/validate/layer_times.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep::app {

namespace {

constexpr std::string_view kForward = ".forward";
constexpr std::string_view kBackward = ".backward";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Routine, position, microbatch.
using CallKey = std::tuple<RoutineId, int, int>;

std::map<CallKey, Interval> call_spans(const TrainingStepTimeline& timeline) {
  std::map<CallKey, Interval> out;
  const RankTimeline& rank = timeline.ranks.front();
  const RoleProgram& role = timeline.roles[rank.role];
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const Call& call = role.operations[i].call;
    const Interval when = rank.operations[i];
    const auto [span, first] =
        out.try_emplace(CallKey{call.routine, call.position, call.microbatch}, when);
    if (first) continue;
    span->second.start = std::min(span->second.start, when.start);
    span->second.end = std::max(span->second.end, when.end);
  }
  return out;
}

std::optional<Duration> median(std::vector<Duration> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

LayerTimes layer_times(const TrainingStepTimeline& timeline) {
  std::vector<Duration> forward;
  std::vector<Duration> backward;
  for (const auto& [key, span] : call_spans(timeline)) {
    const std::string_view name = timeline.program->routines[std::get<0>(key)].name;
    if (name.substr(0, 5) != "layer") continue;
    if (ends_with(name, kForward)) forward.push_back(span.end - span.start);
    if (ends_with(name, kBackward)) backward.push_back(span.end - span.start);
  }
  return {median(std::move(forward)), median(std::move(backward))};
}

}  // namespace lockstep::app
