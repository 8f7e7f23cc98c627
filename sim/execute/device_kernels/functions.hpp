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

/// Kernel bodies, shared by host and GPU: functions of an index, or of a team of threads and a work
/// item. A team has lane(), lanes(), sum() and maximum() (all-reduced over its lanes), wait() and
/// scratch(). The oracle is tests/sim/execute/reference. Comments list:
/// [inputs] -> [outputs]; tables; sizes; numbers. "-": none.
namespace lockstep::kernels {}
