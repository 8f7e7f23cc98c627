#pragma once

#include "sim/program/kernel.hpp"

namespace lockstep {

/// The shape and FLOPs of fused attention and of the products of unfused attention; nothing of a
/// softmax, which memory bounds.
void set_attention(Kernel& kernel, const Program& program, const Operation& operation);

}  // namespace lockstep
