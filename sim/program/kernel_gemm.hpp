#pragma once

#include "sim/program/kernel.hpp"

namespace lockstep {

/// The shape, FLOPs and bytes of a GEMM, with those that are fused to it.
void set_matmul(Kernel& kernel, const Program& program, const Routine& routine,
                const Operation& operation);

/// The numbers that weights have which are cast to 8 bits once for many GEMMs; of a cast to a
/// tensor nothing.
void set_cast(Kernel& kernel, const Program& program, const Operation& operation);

/// The GEMM over all windows of all pixels out: pixels * (window) by (window) * channels out.
/// The gradients are the same three lengths in another order.
void set_convolution(Kernel& kernel, const Program& program, const Operation& operation);

}  // namespace lockstep
