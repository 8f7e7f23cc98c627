#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::figures {

/// What an axis counts, in SI units and bytes; it decides where its marks are and what they say.
enum class Unit : std::uint8_t { count, bytes, seconds, bytes_per_second, share };

struct Axis {
  std::string label;  // without the unit: that is at the marks
  Unit unit = Unit::count;
  bool logarithmic = false;
};

struct Range {
  double from = 0;
  double to = 0;
};

struct Mark {
  double at = 0;
  std::string text;
};

/// A value with its unit: "20 µs", "64 KiB", "312 GB/s", "45 %", with up to `digits` digits.
[[nodiscard]] std::string value_text(double value, Unit unit, int digits = 3);

/// From the data to a range with some room: from 0 where linear, by ratio where logarithmic.
[[nodiscard]] Range axis_range(Range data, const Axis& axis);

/// Round values within the range, at most about `most` of them. Counts and bytes: powers of two on
/// logarithmic axes, and multiples of them on linear ones (bytes).
[[nodiscard]] std::vector<Mark> axis_marks(Range range, const Axis& axis, int most);

/// Position of a value within a range, 0 at its start and 1 at its end.
[[nodiscard]] double position(double value, Range range, bool logarithmic);

}  // namespace lockstep::figures
