#include "sim/network/link_calendar.hpp"

#include <algorithm>

namespace lockstep {

TimePoint LinkCalendar::free_from(TimePoint from) const {
  for (const Span& span : taken_) {
    if (from < span.begin) break;
    from = std::max(from, span.end);
  }
  return from;
}

/// Until what is taken next, as far as it is needed.
Duration LinkCalendar::free_at(TimePoint at, Duration need) const {
  const auto next = std::find_if(taken_.begin(), taken_.end(),
                                 [&](const Span& span) { return span.begin >= at; });
  return next == taken_.end() ? need : std::min(need, next->begin - at);
}

TimePoint LinkCalendar::take_early(TimePoint from, Duration need) {
  TimePoint at = free_from(from);
  while (need > Duration{}) {
    const Duration part = free_at(at, need);
    add(at, at + part);
    need = need - part;
    at = need > Duration{} ? free_from(at + part) : at + part;
  }
  return at;
}

TimePoint LinkCalendar::take_late(TimePoint from, TimePoint until, Duration need) {
  TimePoint end = until;
  while (need > Duration{} && end > from) {
    const auto before = std::find_if(taken_.rbegin(), taken_.rend(),
                                     [&](const Span& span) { return span.begin < end; });
    const bool touches = before != taken_.rend() && before->end >= end;
    if (touches) {
      end = before->begin;
      continue;
    }
    const TimePoint earliest = before == taken_.rend() ? from : std::max(from, before->end);
    const Duration part = std::min(need, end - earliest);
    add(TimePoint{end.since_start() - part}, end);
    need = need - part;
    end = TimePoint{end.since_start() - part};
  }
  return need > Duration{} ? take_early(until, need) : until;
}

void LinkCalendar::forget_before(TimePoint now) {
  const auto keep =
      std::find_if(taken_.begin(), taken_.end(), [&](const Span& span) { return span.end > now; });
  taken_.erase(taken_.begin(), keep);
}

/// Of free time; joins what it touches.
void LinkCalendar::add(TimePoint begin, TimePoint end) {
  if (begin == end) return;
  auto after = std::find_if(taken_.begin(), taken_.end(),
                            [&](const Span& span) { return span.begin >= end; });
  const bool joins_after = after != taken_.end() && after->begin == end;
  const bool joins_before = after != taken_.begin() && std::prev(after)->end == begin;
  if (joins_before && joins_after) {
    std::prev(after)->end = after->end;
    taken_.erase(after);
  } else if (joins_before) {
    std::prev(after)->end = end;
  } else if (joins_after) {
    after->begin = begin;
  } else {
    taken_.insert(after, {begin, end});
  }
}

}  // namespace lockstep
