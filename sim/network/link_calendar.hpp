#pragma once

#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// Busy times of a link from a moving present on: disjoint spans in order. A message occupies bytes
/// / bandwidth of the link's time, even if it arrives more slowly; others use the rest. Spans never
/// overlap, so the link never exceeds its bandwidth.
class LinkCalendar {
 public:
  /// The first free instant at or after `from`.
  [[nodiscard]] TimePoint free_from(TimePoint from) const;
  /// Reserves `need` of the free time from `from` on, as early as possible. Returns its end, or the
  /// first free instant if `need` is zero.
  TimePoint take_early(TimePoint from, Duration need);
  /// Reserves `need` of the free time between `from` and `until`, as late as possible, and the rest
  /// after `until`, as early as possible. Returns the end, at least `until`.
  TimePoint take_late(TimePoint from, TimePoint until, Duration need);
  /// Discards reservations before `now`; later calls must not refer to that time.
  void forget_before(TimePoint now);

 private:
  struct Span {
    TimePoint begin;
    TimePoint end;
  };
  [[nodiscard]] Duration free_at(TimePoint at, Duration need) const;
  void add(TimePoint begin, TimePoint end);

  std::vector<Span> taken_;  // not adjacent
};

}  // namespace lockstep
