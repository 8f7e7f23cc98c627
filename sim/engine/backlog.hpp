#pragma once

#include "sim/base/units.hpp"

namespace lockstep {

/// Work that an end point does piece after piece.
struct Backlog {
  TimePoint free;   // when the next piece can begin
  TimePoint since;  // since when pieces follow one another without a gap
  Bytes bytes;      // all of them since then: rounded to a picosecond once, not each

  /// When the end point has done this too, after what it has to do already.
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
