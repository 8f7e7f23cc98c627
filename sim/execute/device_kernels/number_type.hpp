#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// Element type of a device buffer.
enum class NumberType : std::uint8_t { fp64, fp32, bf16, fp16 };

[[nodiscard]] constexpr std::int64_t bytes_of(NumberType type) {
  return type == NumberType::fp64 ? 8 : type == NumberType::fp32 ? 4 : 2;
}
/// Bits of the significand including the hidden one: integers up to 2 to that power are exact.
[[nodiscard]] constexpr int significand_bits(NumberType type) {
  return type == NumberType::fp64   ? 53
         : type == NumberType::fp32 ? 24
         : type == NumberType::bf16 ? 8
                                    : 11;
}
[[nodiscard]] constexpr std::string_view to_string(NumberType type) {
  return type == NumberType::fp64   ? "fp64"
         : type == NumberType::fp32 ? "fp32"
         : type == NumberType::bf16 ? "bf16"
                                    : "fp16";
}

/// Range of uniformly distributed fill values: least <= number < most.
struct NumberRange {
  double least = -1;
  double most = 1;
};

}  // namespace lockstep
