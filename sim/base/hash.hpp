#pragma once

#include <cstdint>

namespace lockstep {

/// 2^64 divided by the golden ratio, odd: the increment of SplitMix64, and the factor of
/// multiplicative hashing (Knuth, The Art of Computer Programming 3, section 6.4).
inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15U;

/// The output function of SplitMix64, a bijection in which every bit of `z` flips about half of the
/// result's. Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA
/// 2014, figure 17.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// The number that SplitMix64 draws in state `state`; the next state is state + kGoldenGamma.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t state) {
  return mix64(state + kGoldenGamma);
}

}  // namespace lockstep
