#pragma once

namespace lockstep {

/// The smallest integer that is at least a / b. Requires a >= 0 and b > 0; does not overflow.
template <class Integer>
[[nodiscard]] constexpr Integer ceil_div(Integer a, Integer b) {
  return a / b + (a % b == 0 ? 0 : 1);
}

/// The smallest multiple of `unit` that is at least `a`. Requires a >= 0 and unit > 0.
template <class Integer>
[[nodiscard]] constexpr Integer round_up(Integer a, Integer unit) {
  return ceil_div(a, unit) * unit;
}

}  // namespace lockstep
