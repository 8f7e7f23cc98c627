#pragma once

#include <cstdint>

#include "sim/execute/device_kernels/values.hpp"

namespace lockstep::kernels {

/// Arguments of a kernel, passed by value. `Element`: Values, or PlainValues if all operands have
/// the type that is computed in.
template <class Element>
struct BasicArguments {
  static constexpr int kReads = 8;
  static constexpr int kWrites = 6;
  static constexpr int kTables = 10;
  static constexpr int kSizes = 15;
  static constexpr int kNumbers = 8;

  Element in[kReads];
  Element out[kWrites];
  const std::int64_t* table[kTables];
  std::int64_t size[kSizes];
  double number[kNumbers];
  std::uint64_t draw;
  std::uint32_t adds;  // bit i: accumulate into result i

  [[nodiscard]] LOCKSTEP_BOTH bool adds_to(int which) const { return (adds >> which & 1U) != 0; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t at(int which, std::int64_t i) const {
    return table[which] == nullptr ? i : table[which][i];
  }
};

using Arguments = BasicArguments<Values>;

/// Stores or accumulates a result.
template <class Args, class Real>
LOCKSTEP_BOTH inline void put(const Args& a, int which, std::int64_t i, Real value) {
  const auto& to = a.out[which];
  store(to, i, a.adds_to(which) ? load<Real>(to, i) + value : value);
}

}  // namespace lockstep::kernels
