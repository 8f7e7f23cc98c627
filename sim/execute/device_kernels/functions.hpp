#pragma once

#include "sim/execute/device_kernels/attention_functions.hpp"
#include "sim/execute/device_kernels/attention_gradient_functions.hpp"
#include "sim/execute/device_kernels/elementwise_functions.hpp"
#include "sim/execute/device_kernels/expert_functions.hpp"
#include "sim/execute/device_kernels/gemm_functions.hpp"
#include "sim/execute/device_kernels/image_functions.hpp"
#include "sim/execute/device_kernels/loss_functions.hpp"
#include "sim/execute/device_kernels/norm_functions.hpp"
#include "sim/execute/device_kernels/optimizer_functions.hpp"
#include "sim/execute/device_kernels/softmax_functions.hpp"
#include "sim/execute/device_kernels/sum_functions.hpp"

/// What kernels compute, once for the host and for GPUs: a function of an index, or of a team of
/// threads and what it works on. A team has lane(), lanes(), sum(), maximum() (over all its lanes,
/// to all of them), wait() and scratch(). Formulas are those of the host's reference kernels
/// (sim/execute/kernels). In front of each: in, out; tables; sizes; numbers.
namespace lockstep::kernels {}
