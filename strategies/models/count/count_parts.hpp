#pragma once

#include "strategies/models/count/count.hpp"

/// Internal to count.hpp: one function per kind of model.
namespace lockstep {

/// Parameters of a matrix, with or without bias.
[[nodiscard]] inline std::int64_t matrix(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

[[nodiscard]] inline double elements(std::int64_t in, std::int64_t out) {
  return static_cast<double>(in) * static_cast<double>(out);
}

/// FLOPs, two per multiply-add.
[[nodiscard]] inline double gemm(std::int64_t rows, double elements) {
  return 2.0 * static_cast<double>(rows) * elements;
}

[[nodiscard]] ParameterCount count_transformer(const TransformerConfig& c);
[[nodiscard]] FlopCount transformer_flops(TransformerConfig c, const FlopConvention& convention);

}  // namespace lockstep
