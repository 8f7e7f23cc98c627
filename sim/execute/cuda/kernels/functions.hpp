#pragma once

#include "sim/execute/cuda/kernels/attention_functions.hpp"
#include "sim/execute/cuda/kernels/attention_gradient_functions.hpp"
#include "sim/execute/cuda/kernels/elementwise_functions.hpp"
#include "sim/execute/cuda/kernels/expert_functions.hpp"
#include "sim/execute/cuda/kernels/image_functions.hpp"
#include "sim/execute/cuda/kernels/loss_functions.hpp"
#include "sim/execute/cuda/kernels/norm_functions.hpp"
#include "sim/execute/cuda/kernels/optimizer_functions.hpp"
#include "sim/execute/cuda/kernels/product_functions.hpp"
#include "sim/execute/cuda/kernels/softmax_functions.hpp"
#include "sim/execute/cuda/kernels/sum_functions.hpp"

/// What kernels compute, once for the host and for GPUs: a function of an index, or of a team of
/// threads and what it works on. A team has lane(), lanes(), sum(), maximum() (over all its lanes,
/// to all of them), wait() and scratch(). Formulas are those of the host's reference kernels
/// (sim/execute/host/kernels). In front of each: in, out; tables; sizes; numbers.
namespace lockstep::kernels {}
