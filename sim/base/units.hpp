#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

/// Quantities as types. Raw numbers carry no unit and cross no function boundary.
/// All arithmetic is checked: what does not fit throws OutOfRange.
namespace lockstep {

/// 128-bit integers carry progress exactly; GCC and Clang provide them on every 64-bit target.
__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

namespace detail {
[[noreturn]] void throw_overflow(const char* what);
[[noreturn]] void throw_negative(const char* what);
}  // namespace detail

/// A number of bytes, never negative.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_{count} {
    if (count < 0) detail::throw_negative("Bytes");
  }
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.count_, b.count_, &sum)) detail::throw_overflow("Bytes");
    return Bytes{sum};
  }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count_ - b.count_}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t times) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.count_, times, &product)) detail::throw_overflow("Bytes");
    return Bytes{product};
  }
  friend constexpr Bytes operator*(std::int64_t times, Bytes a) { return a * times; }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  std::int64_t count_ = 0;
};

/// A span of time in integer picoseconds, at most 106 days; may be negative as a difference.
class Duration {
 public:
  constexpr Duration() = default;
  [[nodiscard]] static constexpr Duration picoseconds(std::int64_t ps) { return Duration{ps}; }
  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  /// Divided, not multiplied by 1e-12, so that 339544320 ps read 0.00033954432 and nothing longer.
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }

  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.ps_, b.ps_, &sum)) detail::throw_overflow("Duration");
    return Duration{sum};
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.ps_, b.ps_, &difference)) detail::throw_overflow("Duration");
    return Duration{difference};
  }
  friend constexpr Duration operator*(Duration a, std::int64_t times) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.ps_, times, &product)) detail::throw_overflow("Duration");
    return Duration{product};
  }
  friend constexpr Duration operator*(std::int64_t times, Duration a) { return a * times; }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_{ps} {}
  std::int64_t ps_ = 0;
};

/// An instant on the simulated clock, counted from its start. Two instants do not add.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  constexpr explicit TimePoint(Duration since_start) : since_start_{since_start} {}
  [[nodiscard]] constexpr Duration since_start() const { return since_start_; }
  [[nodiscard]] constexpr std::int64_t ps() const { return since_start_.ps(); }

  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    return TimePoint{t.since_start_ + d};
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return a.since_start_ - b.since_start_;
  }
  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;

 private:
  Duration since_start_;
};

/// Bytes per second, above zero, held in steps of 2^-16 bytes per second so that fair shares are
/// exact integers. Largest value 2^47 bytes per second (140 TB/s).
class Rate {
 public:
  static constexpr int kFractionBits = 16;
  static constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 63U;

  /// Throws OutOfRange unless 0 < steps <= 2^63.
  [[nodiscard]] static constexpr Rate from_steps(std::uint64_t steps) {
    if (steps == 0) detail::throw_negative("Rate");
    if (steps > kMaxSteps) detail::throw_overflow("Rate");
    return Rate{steps};
  }
  [[nodiscard]] static constexpr Rate bytes_per_second(std::uint64_t count) {
    if (count > (kMaxSteps >> kFractionBits)) detail::throw_overflow("Rate");
    return from_steps(count << kFractionBits);
  }
  [[nodiscard]] constexpr std::uint64_t steps() const { return steps_; }
  [[nodiscard]] constexpr double bytes_per_second() const {
    return static_cast<double>(steps_) / 65536.0;
  }
  /// This rate times a factor, rounded once to the nearest step; used at set-up only.
  [[nodiscard]] Rate scaled(double factor) const;

  friend constexpr auto operator<=>(Rate, Rate) = default;

 private:
  constexpr explicit Rate(std::uint64_t steps) : steps_{steps} {}
  std::uint64_t steps_ = 1;
};

/// Floating-point operations per second, above zero (a device's peak).
class FlopRate {
 public:
  constexpr explicit FlopRate(double per_second) : per_second_{per_second} {
    if (!(per_second > 0)) detail::throw_negative("FlopRate");
  }
  [[nodiscard]] constexpr double per_second() const { return per_second_; }
  friend constexpr auto operator<=>(FlopRate, FlopRate) = default;

 private:
  double per_second_;
};

/// Work left on a transfer, in 2^-16 byte per second times picosecond: rate steps times
/// picoseconds, exactly. One byte is 65536e12 of them.
inline constexpr Int128 kWorkPerByte = Int128{65536} * 1'000'000'000'000;
[[nodiscard]] constexpr Int128 work_of(Bytes bytes) {
  return kWorkPerByte * bytes.count();
}

/// Time for `work` at `rate`, to the nearest picosecond (halves go up).
/// Throws OutOfRange beyond 106 days.
[[nodiscard]] inline Duration time_for(Int128 work, std::uint64_t rate_steps) {
  const UInt128 rounded = static_cast<UInt128>(work) + rate_steps / 2;
  UInt128 ps = 0;
  // Most quotients fit a 64-bit dividend after all; the wide division is several times slower.
  if ((rounded >> 64U) == 0) {
    ps = static_cast<std::uint64_t>(rounded) / rate_steps;
  } else {
    ps = rounded / rate_steps;
  }
  if (ps > static_cast<UInt128>(INT64_MAX)) detail::throw_overflow("Duration");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

[[nodiscard]] inline Duration operator/(Bytes bytes, Rate rate) {
  return time_for(work_of(bytes), rate.steps());
}

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)};
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 30);
}
constexpr Duration operator""_ps(unsigned long long n) {
  return Duration::picoseconds(static_cast<std::int64_t>(n));
}
constexpr Duration operator""_ns(unsigned long long n) {
  return Duration::picoseconds(1000) * static_cast<std::int64_t>(n);
}
constexpr Duration operator""_us(unsigned long long n) {
  return Duration::picoseconds(1'000'000) * static_cast<std::int64_t>(n);
}
constexpr Duration operator""_ms(unsigned long long n) {
  return Duration::picoseconds(1'000'000'000) * static_cast<std::int64_t>(n);
}
constexpr Rate operator""_GBps(unsigned long long n) {
  return Rate::bytes_per_second(n * 1'000'000'000ULL);
}
constexpr Rate operator""_Gbps(unsigned long long n) {
  return Rate::bytes_per_second(n * 125'000'000ULL);
}
}  // namespace literals

/// Text forms. Parsing is exact (decimal, never through a double) and strict: a number, an
/// optional space, a unit; SI and IEC prefixes and bits and bytes are distinguished
/// ("400 Gb/s", "50 GB/s", "32 GiB/s", "2 us", "80 GiB", "989.4 TFLOP/s").
/// The result is empty where the text is not such a quantity, has no unit, is negative, or
/// does not fit; rates of zero are refused too.
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
[[nodiscard]] std::optional<Rate> parse_rate(std::string_view text);
[[nodiscard]] std::optional<FlopRate> parse_flop_rate(std::string_view text);

/// Short human forms: "64 MiB", "2.377 ms", "50 GB/s", "989.4 TFLOP/s".
[[nodiscard]] std::string to_string(Bytes bytes);
[[nodiscard]] std::string to_string(Duration duration);
[[nodiscard]] std::string to_string(Rate rate);
[[nodiscard]] std::string to_string(FlopRate rate);

}  // namespace lockstep
