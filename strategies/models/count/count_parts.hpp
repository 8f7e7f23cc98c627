#pragma once

#include "strategies/models/count/count.hpp"

/// The parts of count.hpp, one per kind of model.
namespace lockstep {

/// Elements of a matrix with or without a bias.
[[nodiscard]] inline std::int64_t matrix(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

[[nodiscard]] inline double elements(std::int64_t in, std::int64_t out) {
  return static_cast<double>(in) * static_cast<double>(out);
}

/// Floating-point operations, two per multiply and add.
[[nodiscard]] inline double gemm(std::int64_t rows, double elements) {
  return 2.0 * static_cast<double>(rows) * elements;
}

[[nodiscard]] ParameterCount count_transformer(const TransformerConfig& c);
[[nodiscard]] FlopCount transformer_flops(TransformerConfig c, const FlopConvention& convention);

}  // namespace lockstep
