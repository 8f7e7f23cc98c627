#pragma once

#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// When a link is taken, from a moving present on: disjoint spans of its time, in order. What
/// passes it takes bytes over bandwidth of that time, however long it trickles in: others use what
/// is left. A link is never promised twice, so over any time it carries no more than its bandwidth
/// allows.
class LinkCalendar {
 public:
  /// The first free instant at or after `from`.
  [[nodiscard]] TimePoint free_from(TimePoint from) const;
  /// Takes `need` of the free time from `from` on, as early as possible. Returns its end; where
  /// nothing is needed, the first free instant.
  TimePoint take_early(TimePoint from, Duration need);
  /// Takes `need` of the free time between `from` and `until`, as late as possible, and what is not
  /// to be had there after `until`, as early as possible. Returns the end, `until` at the earliest.
  TimePoint take_late(TimePoint from, TimePoint until, Duration need);
  /// Nothing will be asked of the time before `now`.
  void forget_before(TimePoint now);

 private:
  struct Span {
    TimePoint begin;
    TimePoint end;
  };
  [[nodiscard]] Duration free_at(TimePoint at, Duration need) const;
  void add(TimePoint begin, TimePoint end);

  std::vector<Span> taken_;  // no two touch
};

}  // namespace lockstep
