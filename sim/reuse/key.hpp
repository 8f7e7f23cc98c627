#pragma once

#include <compare>
#include <cstdint>

#include "sim/base/units.hpp"

namespace lockstep::fold {

/// 128-bit hash of everything that was added; equal keys count as equal. With 2^24 different values
/// the chance of one collision is 2^-81.
struct Key {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;
  /// Sums of keys do not depend on the order of summands.
  Key& operator+=(const Key& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
};

/// Hashes numbers in order: two chains of multiply-and-fold (wyhash's step; Wang Yi 2019) with
/// different constants.
class KeyBuilder {
 public:
  KeyBuilder& add(std::uint64_t value) {
    key_.low = fold(key_.low ^ value ^ 0xA0761D6478BD642FULL, 0xE7037ED1A0B428DBULL);
    key_.high = fold(key_.high + (value ^ 0x8EBC6AF09C88C6E3ULL), 0x589965CC75374CC3ULL) ^ value;
    return *this;
  }
  KeyBuilder& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
  KeyBuilder& add(int value) { return add(static_cast<std::int64_t>(value)); }
  KeyBuilder& add(std::uint32_t value) { return add(std::uint64_t{value}); }
  KeyBuilder& add(const Key& key) { return add(key.low).add(key.high); }
  [[nodiscard]] Key key() const { return key_; }

 private:
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const UInt128 product = static_cast<UInt128>(a ^ (b >> 1U)) * (b | 1U);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }
  Key key_{0x9E3779B97F4A7C15ULL, 0xD1B54A32D192ED03ULL};
};

}  // namespace lockstep::fold
