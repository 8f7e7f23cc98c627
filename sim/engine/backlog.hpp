#pragma once

#include "sim/base/units.hpp"

namespace lockstep {

/// Local work of an endpoint, done one piece after the other.
struct Backlog {
  TimePoint free;   // when the next piece can start
  TimePoint since;  // start of the current busy period
  Bytes bytes;      // of the busy period: rounded to a picosecond once, not per piece

  /// End of this piece, queued behind the earlier ones.
  [[nodiscard]] TimePoint add(Bytes more, Rate rate, TimePoint now) {
    if (now >= free && now != since) {  // pieces of one instant add up, however short each is
      since = now;
      bytes = Bytes{};
    }
    bytes += more;
    free = since + bytes / rate;
    return free;
  }
};

}  // namespace lockstep
