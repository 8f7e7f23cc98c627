#pragma once

#include <string>

#include "sim/base/provenance.hpp"

namespace lockstep {

/// The parameter that limits a time, and how it is known.
struct Basis {
  Provenance provenance = Provenance::assumed;
  std::string value{"a value without source"};  // "products.bf16.tiles of kernels/hopper"
};

/// Of two parameters that both count, the less sure one.
[[nodiscard]] inline const Basis& weaker(const Basis& a, const Basis& b) {
  return b.provenance > a.provenance ? b : a;
}

/// Of a rate, `efficiency` times `nominal`. The efficiency was computed with the datasheet's
/// nominal value, whose error cancels in the product: only one that is less sure than a datasheet
/// counts.
[[nodiscard]] inline const Basis& basis_of_rate(const Basis& nominal, const Basis& efficiency) {
  return nominal.provenance > Provenance::datasheet ? weaker(efficiency, nominal) : efficiency;
}

}  // namespace lockstep
