#include "tools/figures/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace lockstep::figures {

namespace {

/// At most `digits` significant digits, without an exponent and trailing zeros.
std::string number_text(double value, int digits) {
  if (value == 0) return "0";
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  std::string out = fmt::format("{:.{}f}", value, std::clamp(digits - 1 - power, 0, 9));
  if (out.find('.') == std::string::npos) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string bytes_text(double value, int digits) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{} {}", number_text(value, digits), kUnits.at(unit));
}

std::string decimal_text(double value, Unit unit, int digits) {
  const bool time = unit == Unit::seconds;
  if (value == 0) return time ? "0 s" : "0 B/s";
  constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "µ", "m", "", "k",
                                                          "M", "G", "T", "P", "E"};
  const double power = std::floor(std::log10(std::abs(value)) + 1e-9);
  const int third = std::clamp(static_cast<int>(std::floor(power / 3)), -4, time ? 0 : 6);
  return fmt::format("{} {}{}", number_text(value / std::pow(10, 3 * third), digits),
                     kPrefixes.at(static_cast<std::size_t>(third + 4)), time ? "s" : "B/s");
}

bool is_binary(Unit unit) {
  return unit == Unit::count || unit == Unit::bytes;
}

std::vector<Mark> powers_of_two(Range range, Unit unit, int most) {
  const int first = static_cast<int>(std::ceil(std::log2(range.from) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(range.to) + 1e-9));
  int step = 1;
  // Of bytes, steps of 10 lead to powers of 1024.
  for (const int next : {2, 5, 10, 20, 40}) {
    if ((last - first) / step + 1 <= most) break;
    step = unit == Unit::bytes || next != 5 ? next : 4;
  }
  std::vector<Mark> out;
  for (int power = first; power <= last; ++power)
    if ((power % step + step) % step == 0)
      out.push_back({std::exp2(power), value_text(std::exp2(power), unit, 9)});
  return out;
}

/// 1, 2 and 5 times powers of ten, or fewer where those are too many.
std::vector<Mark> powers_of_ten(Range range, Unit unit, int most) {
  std::vector<Mark> out;
  const int last = static_cast<int>(std::floor(std::log10(range.to) + 1e-9));
  const int first = static_cast<int>(std::floor(std::log10(range.from) + 1e-9));
  for (const int density : {3, 2, 1, -2, -3, -4}) {
    out.clear();
    for (int power = first; power <= last; ++power)
      for (const int digit : {1, 2, 5}) {
        const double at = digit * std::pow(10, power);
        if (at < range.from * (1 - 1e-9) || at > range.to * (1 + 1e-9)) continue;
        if (digit == 2 && density < 3) continue;
        if (digit == 5 && density < 2) continue;
        if (density < 0 && power % -density != 0) continue;
        out.push_back({at, value_text(at, unit)});
      }
    if (static_cast<int>(out.size()) <= most) break;
  }
  return out;
}

/// The unit in which a range is counted: what one stands for. Bytes: a power of 1024.
double unit_of(Range range, Unit unit) {
  if (unit != Unit::bytes) return 1;
  double one = 1;
  while (range.to / one >= 1024) one *= 1024;
  return one;
}

std::vector<Mark> linear_marks(Range range, Unit unit, int most) {
  const double one = unit_of(range, unit);
  const double least = (range.to - range.from) / one / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double digit : {5.0, 2.0, 1.0})
    if (digit * power >= least * (1 - 1e-9)) step = digit * power;
  // Decimal parts of a binary unit have no short name: 0.2 GiB are 204.8 MiB.
  if (unit == Unit::bytes && least < 0.5) step = std::exp2(std::ceil(std::log2(least) - 1e-9));
  step *= one;
  std::vector<Mark> out;
  for (double n = std::ceil(range.from / step - 1e-9); n * step <= range.to * (1 + 1e-9); n += 1)
    out.push_back({n * step, value_text(n * step, unit, 6)});
  return out;
}

}  // namespace

std::string value_text(double value, Unit unit, int digits) {
  switch (unit) {
    case Unit::bytes:
      return bytes_text(value, digits);
    case Unit::share:
      return number_text(100 * value, digits) + " %";
    case Unit::count:
      return number_text(value, digits);
    case Unit::seconds:
    case Unit::bytes_per_second:
      break;
  }
  return decimal_text(value, unit, digits);
}

Range axis_range(Range data, const Axis& axis) {
  if (!axis.logarithmic) return {std::min(0.0, data.from), data.to > 0 ? data.to * 1.06 : 1};
  Range out{data.from / 1.3, data.to * 1.3};
  if (is_binary(axis.unit)) return {data.from / 1.15, data.to * 1.15};
  constexpr double kNear = 2.5;
  const double below = std::pow(10, std::floor(std::log10(data.from)));
  const double above = std::pow(10, std::ceil(std::log10(data.to)));
  if (data.from / below <= kNear) out.from = std::min(out.from, below);
  if (above / data.to <= kNear) out.to = std::max(out.to, above);
  return out;
}

std::vector<Mark> axis_marks(Range range, const Axis& axis, int most) {
  most = std::max(most, 2);
  if (!axis.logarithmic) return linear_marks(range, axis.unit, most);
  return is_binary(axis.unit) ? powers_of_two(range, axis.unit, most)
                              : powers_of_ten(range, axis.unit, most);
}

double position(double value, Range range, bool logarithmic) {
  if (!logarithmic) return (value - range.from) / (range.to - range.from);
  return std::log(value / range.from) / std::log(range.to / range.from);
}

}  // namespace lockstep::figures
