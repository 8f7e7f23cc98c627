#include "sim/trace/step_period.hpp"

#include <algorithm>
#include <optional>

#include "sim/trace/passes.hpp"

namespace lockstep {

namespace {

[[nodiscard]] Duration own_period(const RoleProgram& role, const RankTimeline& rank) {
  std::optional<Interval> span;
  Duration updates;
  for (const Pass& pass : passes(role, rank)) {
    if (pass.kind == Pass::Kind::update) {
      updates += pass.interval.end - pass.interval.start;
      continue;
    }
    if (!span) span = pass.interval;
    span->start = std::min(span->start, pass.interval.start);
    span->end = std::max(span->end, pass.interval.end);
  }
  return span ? span->end - span->start + updates : updates;
}

}  // namespace

Duration step_period(const TrainingStepTimeline& timeline) {
  Duration out;
  for (const RankTimeline& rank : timeline.ranks) {
    const RoleProgram& role = timeline.roles[rank.role];
    if (!timeline.program->roles[rank.role].host) out = std::max(out, own_period(role, rank));
  }
  return out;
}

}  // namespace lockstep
