#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "sim/execute/device_kernels/both.hpp"
#include "sim/execute/device_kernels/number_type.hpp"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

/// Elements of a buffer of any type, loaded to and stored from float or double, on host and GPU.
namespace lockstep::kernels {

struct Values {
  void* data = nullptr;
  NumberType type = NumberType::fp32;
};

template <class To, class From>
[[nodiscard]] LOCKSTEP_BOTH inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

[[nodiscard]] LOCKSTEP_BOTH inline float from_bf16(std::uint16_t bits) {
  return bits_as<float>(static_cast<std::uint32_t>(bits) << 16U);
}
/// Rounds to nearest, ties to even.
[[nodiscard]] LOCKSTEP_BOTH inline std::uint16_t to_bf16(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fffU;  // NaN
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>(rounded >> 16U);
}

[[nodiscard]] LOCKSTEP_BOTH inline float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) return bits_as<float>(sign | 0x7f800000U | (fraction << 13U));
  // 2^-24 per unit of a subnormal's fraction.
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 5.9604644775390625e-8F;
    return sign != 0 ? -size : size;
  }
  return bits_as<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}
/// Rounds to nearest, ties to even.
[[nodiscard]] LOCKSTEP_BOTH inline std::uint16_t to_fp16(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return 0x7fffU;                                      // NaN
  if (size >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // too large
  if (size < 0x38800000U) {  // subnormal: adding 0.5 lets the hardware round at 2^-24
    const float shifted = bits_as<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (bits_as<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = size + 0xfffU + ((size >> 13U) & 1U) - 0x38000000U;
  return static_cast<std::uint16_t>(sign | (rounded >> 13U));
}

template <class Real>
[[nodiscard]] LOCKSTEP_BOTH inline Real load(const Values& from, std::int64_t i) {
  switch (from.type) {
    case NumberType::fp64:
      return static_cast<Real>(static_cast<const double*>(from.data)[i]);
    case NumberType::fp32:
      return static_cast<Real>(static_cast<const float*>(from.data)[i]);
    case NumberType::bf16:
      return static_cast<Real>(from_bf16(static_cast<const std::uint16_t*>(from.data)[i]));
    default:
      return static_cast<Real>(from_fp16(static_cast<const std::uint16_t*>(from.data)[i]));
  }
}

template <class Real>
LOCKSTEP_BOTH inline void store(const Values& to, std::int64_t i, Real value) {
  switch (to.type) {
    case NumberType::fp64:
      static_cast<double*>(to.data)[i] = static_cast<double>(value);
      return;
    case NumberType::fp32:
      static_cast<float*>(to.data)[i] = static_cast<float>(value);
      return;
    case NumberType::bf16:
      static_cast<std::uint16_t*>(to.data)[i] = to_bf16(static_cast<float>(value));
      return;
    default:
      static_cast<std::uint16_t*>(to.data)[i] = to_fp16(static_cast<float>(value));
      return;
  }
}

/// Atomic addition.
template <class Real>
LOCKSTEP_BOTH inline void add_to(const Values& to, std::int64_t i, Real value) {
#ifdef __CUDA_ARCH__
  switch (to.type) {
    case NumberType::fp64:
      atomicAdd(static_cast<double*>(to.data) + i, static_cast<double>(value));
      return;
    case NumberType::fp32:
      atomicAdd(static_cast<float*>(to.data) + i, static_cast<float>(value));
      return;
    case NumberType::bf16:
      atomicAdd(static_cast<__nv_bfloat16*>(to.data) + i,
                __float2bfloat16(static_cast<float>(value)));
      return;
    default:
      atomicAdd(static_cast<__half*>(to.data) + i, __float2half(static_cast<float>(value)));
      return;
  }
#else
  store(to, i, load<Real>(to, i) + value);
#endif
}

/// Elements of a buffer of one type.
template <class Real>
struct PlainValues {
  Real* data = nullptr;
};

template <class To, class Real>
[[nodiscard]] LOCKSTEP_BOTH inline To load(const PlainValues<Real>& from, std::int64_t i) {
  return static_cast<To>(from.data[i]);
}
template <class Real>
LOCKSTEP_BOTH inline void store(const PlainValues<Real>& to, std::int64_t i, Real value) {
  to.data[i] = value;
}
template <class Real>
inline void add_to(const PlainValues<Real>& to, std::int64_t i, Real value) {  // host: no atomics
  to.data[i] += value;
}

/// SplitMix64 of a seed and a position, as in random_bits.hpp.
[[nodiscard]] LOCKSTEP_BOTH inline std::uint64_t mixed_bits(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9e3779b97f4a7c15U * (b + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}
[[nodiscard]] LOCKSTEP_BOTH inline double unit_of(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) / 9007199254740992.0;
}
/// A number in the range, at least 2^-8 of its width away from zero, so that no precision rounds it
/// to zero.
[[nodiscard]] LOCKSTEP_BOTH inline double scattered(const NumberRange& range, std::uint64_t seed,
                                                    std::uint64_t place) {
  const double width = range.most - range.least;
  const double value = range.least + width * unit_of(mixed_bits(seed, place));
  const double least = width * 0.00390625;
  return value < least && value > -least ? least : value;
}

/// Lower than every score: the maximum of an empty set.
template <class Real>
[[nodiscard]] LOCKSTEP_BOTH inline Real nothing() {
  return -static_cast<Real>(INFINITY);
}

}  // namespace lockstep::kernels
