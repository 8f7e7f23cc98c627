#pragma once

#include "strategies/collectives/algorithm.hpp"

/// Shared by the rows of several all-reduce files.
namespace lockstep::rows {

/// Parallel rings or trees, each on its own slice.
inline AlgorithmParameter channels_parameter() {
  return {.name = "channels",
          .meaning = "how many side by side, each on a slice of its own and, in nodes, other NICs",
          .fallback = 1,
          .most = 64};
}

inline AlgorithmParameter inner_parameter() {
  return {.name = "inner",
          .meaning =
              "the all-reduce across nodes; its own parameters after colons, as in "
              "torus:dims=4x2:copies=1",
          .kind = ParameterKind::algorithm,
          .fallback = "ring"};
}

inline AlgorithmParameter dims_parameter() {
  return {.name = "dims",
          .meaning =
              "dimensions, consecutive ranks along the first; the torus, else ranks of a node "
              "by nodes, if not given",
          .kind = ParameterKind::dimensions};
}

inline constexpr std::string_view kHalvingRounds =
    "2 lg n; 2 lg N' + 2 where n is not a power of two";
inline constexpr std::string_view kHalvingSent =
    "2(n-1)/n*S; S + 2(N'-1)/N'*S by the partner of an extra rank";
inline constexpr std::string_view kHalvingTime =
    "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
    "(2 lg N' + 2)*alpha + 2(1 + (N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma";

inline constexpr std::string_view kDoublingRounds = "lg n; lg N' + 2 where n is not a power of two";
inline constexpr std::string_view kDoublingSent =
    "lg n*S; (lg N' + 1)*S by the partner of an extra rank";
inline constexpr std::string_view kDoublingTime =
    "lg n*(alpha + S*beta + S*gamma); where n is not a power of two "
    "(lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma";

inline constexpr std::string_view kSwing = "De Sensi et al. 2024 (arXiv 2401.09356), section 3";

}  // namespace lockstep::rows
