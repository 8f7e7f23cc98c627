#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "sim/base/units.hpp"

namespace lockstep::app {

/// A span of time of a campaign, or an instant since its start, in integer microseconds: Duration
/// ends at 106 days. Sums are exact and checked.
class LongTime {
 public:
  constexpr LongTime() = default;
  [[nodiscard]] static constexpr LongTime microseconds(std::int64_t us) { return LongTime{us}; }
  /// Rounded to the nearest microsecond; longer than never() is never().
  [[nodiscard]] static LongTime seconds(double seconds) {
    const double us = seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5);
    return us < kNever ? LongTime{static_cast<std::int64_t>(us)} : never();
  }
  /// Later than any event: 146,000 years.
  [[nodiscard]] static constexpr LongTime never() {
    return LongTime{std::numeric_limits<std::int64_t>::max() / 2};
  }

  [[nodiscard]] constexpr std::int64_t us() const { return us_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(us_) / 1e6; }
  [[nodiscard]] constexpr double hours() const { return seconds() / 3600; }
  [[nodiscard]] constexpr double days() const { return seconds() / 86400; }

  friend constexpr LongTime operator+(LongTime a, LongTime b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.us_, b.us_, &sum)) detail::throw_overflow("LongTime");
    return LongTime{sum};
  }
  friend constexpr LongTime operator-(LongTime a, LongTime b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.us_, b.us_, &difference)) detail::throw_overflow("LongTime");
    return LongTime{difference};
  }
  friend constexpr LongTime operator*(LongTime a, std::int64_t times) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.us_, times, &product)) detail::throw_overflow("LongTime");
    return LongTime{product};
  }
  constexpr LongTime& operator+=(LongTime other) { return *this = *this + other; }
  constexpr LongTime& operator-=(LongTime other) { return *this = *this - other; }
  friend constexpr auto operator<=>(LongTime, LongTime) = default;

 private:
  static constexpr double kNever = 4.6e18;
  constexpr explicit LongTime(std::int64_t us) : us_{us} {}
  std::int64_t us_ = 0;
};

}  // namespace lockstep::app
