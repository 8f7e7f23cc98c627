#include "sim/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <stdexcept>

namespace lockstep {

namespace detail {
void throw_overflow(const char* what) {
  throw OutOfRange(fmt::format("{} out of range", what));
}
void throw_negative(const char* what) {
  throw OutOfRange(fmt::format("{} must not be zero or negative", what));
}
}  // namespace detail

Rate Rate::scaled(double factor) const {
  const double steps = std::nearbyint(static_cast<double>(steps_) * factor);
  if (!(steps >= 1.0)) detail::throw_negative("Rate");
  if (steps > static_cast<double>(kMaxSteps)) detail::throw_overflow("Rate");
  return from_steps(static_cast<std::uint64_t>(steps));
}

namespace {

/// A unit's worth as numerator over denominator, in the quantity's own base step.
struct Unit {
  std::string_view name;
  UInt128 numerator;
  std::uint64_t denominator;
};

constexpr std::uint64_t kKilo = 1'000ULL;
constexpr std::uint64_t kMega = 1'000'000ULL;
constexpr std::uint64_t kGiga = 1'000'000'000ULL;
constexpr std::uint64_t kTera = 1'000'000'000'000ULL;
constexpr std::uint64_t kPeta = 1'000'000'000'000'000ULL;
constexpr std::uint64_t kExa = 1'000'000'000'000'000'000ULL;
constexpr std::uint64_t kKibi = 1ULL << 10U;
constexpr std::uint64_t kMebi = 1ULL << 20U;
constexpr std::uint64_t kGibi = 1ULL << 30U;
constexpr std::uint64_t kTebi = 1ULL << 40U;

constexpr std::array kByteUnits = {
    Unit{"B", 1, 1},       Unit{"kB", kKilo, 1},  Unit{"MB", kMega, 1},
    Unit{"GB", kGiga, 1},  Unit{"TB", kTera, 1},  Unit{"KiB", kKibi, 1},
    Unit{"MiB", kMebi, 1}, Unit{"GiB", kGibi, 1}, Unit{"TiB", kTebi, 1}};

constexpr std::array kDurationUnits = {Unit{"ps", 1, 1},
                                       Unit{"ns", kKilo, 1},
                                       Unit{"us", kMega, 1},
                                       Unit{"µs", kMega, 1},
                                       Unit{"ms", kGiga, 1},
                                       Unit{"s", kTera, 1},
                                       Unit{"min", 60 * UInt128{kTera}, 1},
                                       Unit{"h", 3600 * UInt128{kTera}, 1}};

constexpr UInt128 kSteps = 65536;  // of 2^-16 bytes per second
constexpr std::array kRateUnits = {
    Unit{"B/s", kSteps, 1},           Unit{"kB/s", kSteps* kKilo, 1},
    Unit{"MB/s", kSteps* kMega, 1},   Unit{"GB/s", kSteps* kGiga, 1},
    Unit{"TB/s", kSteps* kTera, 1},   Unit{"KiB/s", kSteps* kKibi, 1},
    Unit{"MiB/s", kSteps* kMebi, 1},  Unit{"GiB/s", kSteps* kGibi, 1},
    Unit{"TiB/s", kSteps* kTebi, 1},  Unit{"b/s", kSteps, 8},
    Unit{"kb/s", kSteps* kKilo, 8},   Unit{"Mb/s", kSteps* kMega, 8},
    Unit{"Gb/s", kSteps* kGiga, 8},   Unit{"Tb/s", kSteps* kTera, 8},
    Unit{"Mbit/s", kSteps* kMega, 8}, Unit{"Gbit/s", kSteps* kGiga, 8}};

constexpr std::array kFlopUnits = {Unit{"FLOP/s", 1, 1},      Unit{"kFLOP/s", kKilo, 1},
                                   Unit{"MFLOP/s", kMega, 1}, Unit{"GFLOP/s", kGiga, 1},
                                   Unit{"TFLOP/s", kTera, 1}, Unit{"PFLOP/s", kPeta, 1},
                                   Unit{"EFLOP/s", kExa, 1}};

struct Decimal {
  UInt128 digits = 0;
  int fraction_digits = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads digits[.digits] off the front of `text`; at most 18 digits, so that no product
/// below overflows 128 bits.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal out;
  std::size_t at = 0;
  int digits = 0;
  while (at < text.size() && is_digit(text[at])) {
    out.digits = out.digits * 10 + static_cast<unsigned>(text[at++] - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) {
      out.digits = out.digits * 10 + static_cast<unsigned>(text[at++] - '0');
      ++digits;
    }
    if (at == first) return std::nullopt;
    out.fraction_digits = static_cast<int>(at - first);
  }
  if (digits > 18) return std::nullopt;
  text.remove_prefix(at);
  return out;
}

/// The quantity in base steps, rounded to the nearest; empty if malformed, or if a value above
/// zero would round to zero.
std::optional<UInt128> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const auto decimal = take_decimal(text);
  if (!decimal) return std::nullopt;
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    UInt128 divisor = unit.denominator;
    for (int i = 0; i < decimal->fraction_digits; ++i) divisor *= 10;
    if (unit.numerator != 0 && decimal->digits > ~UInt128{0} / unit.numerator) return std::nullopt;
    const UInt128 scaled = decimal->digits * unit.numerator;
    const UInt128 value = scaled / divisor + (scaled % divisor >= (divisor + 1) / 2 ? 1 : 0);
    if (value == 0 && decimal->digits != 0) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

/// `value` with up to four significant digits, trailing zeros dropped.
std::string four_digits(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse_quantity(text, kByteUnits);
  if (!value || *value > static_cast<UInt128>(INT64_MAX)) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(*value)};
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto value = parse_quantity(text, kDurationUnits);
  if (!value || *value > static_cast<UInt128>(INT64_MAX)) return std::nullopt;
  return Duration::picoseconds(static_cast<std::int64_t>(*value));
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto value = parse_quantity(text, kRateUnits);
  if (!value || *value == 0 || *value > Rate::kMaxSteps) return std::nullopt;
  return Rate::from_steps(static_cast<std::uint64_t>(*value));
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const auto value = parse_quantity(text, kFlopUnits);
  if (!value || *value == 0) return std::nullopt;
  return FlopRate{static_cast<double>(*value)};
}

std::string to_string(Bytes bytes) {
  static constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kNames.at(unit));
}

std::string to_string(Duration duration) {
  static constexpr std::array kNames = {"ps", "ns", "us", "ms", "s"};
  auto value = static_cast<double>(duration.ps());
  std::size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kNames.at(unit));
}

std::string to_string(Rate rate) {
  static constexpr std::array kNames = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  double value = rate.bytes_per_second();
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kNames.at(unit));
}

std::string to_string(FlopRate rate) {
  static constexpr std::array kNames = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", "EFLOP/s"};
  double value = rate.per_second();
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kNames.at(unit));
}

}  // namespace lockstep
