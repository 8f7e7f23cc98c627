#pragma once

#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

/// Sets shape, FLOPs and bytes of a GEMM, including those fused to it.
void set_matmul(Kernel& kernel, const Program& program, const Routine& routine,
                const Operation& operation);

/// Sets the work of a cast to operands of GEMMs in at most 8 bits; no effect for other casts.
void set_cast(Kernel& kernel, const Program& program, const Operation& operation);

/// Sets the GEMMs of an optimizer of matrices, for all in the rank's stack.
void set_series(Kernel& kernel, const Program& program, const Operation& operation);

/// Sets the GEMM over all windows of all output pixels: pixels * (window) by (window) * output
/// channels. Gradients have the same three lengths in another order.
void set_convolution(Kernel& kernel, const Program& program, const Operation& operation);

}  // namespace lockstep
