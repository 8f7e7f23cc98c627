#pragma once

#include "sim/execute/command_graph/backend.hpp"
#include "tests/sim/execute/kernels/gradient_case.hpp"

/// Operations as command graphs of their own on a device, beside the oracle.
namespace lockstep {

struct OnDevice {
  Backend* device = nullptr;
  NumberType type = NumberType::fp64;  // of all but whole numbers; 64 bits are computed in float64
  bool adds = false;                   // to what results hold
  std::int64_t max_scratch_elements = std::int64_t{1} << 27;
};

/// Largest difference of a case's results, forward and backward, from those of the reference
/// kernels in float64 on the same operands, as the type rounds them; over the largest result or
/// one. Infinite where an element is not written.
[[nodiscard]] double largest_error(const GradientCase& test, const OnDevice& how);

}  // namespace lockstep
