#pragma once

#include <cstdint>
#include <string_view>

/// Numbers drawn by place: the same for every reader, in any order.
namespace lockstep {

/// One step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014, figure 17) from a state that both make up.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9e3779b97f4a7c15U * (b + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::string_view text) {
  for (const char c : text) a = mixed(a, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  return a;
}

/// In [0, 1), by the upper 53 bits.
[[nodiscard]] constexpr double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) / 9007199254740992.0;
}

}  // namespace lockstep
