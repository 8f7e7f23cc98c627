#pragma once

#include "sim/execute/kernels/kernels.hpp"

/// What every kind of operation computes, by plain loops in the order of its formula: the oracle of
/// sim/execute/kernels.
namespace lockstep {

/// As run_kernel().
template <class Real>  // float, double
void run_reference(KernelCall<Real>& call);

}  // namespace lockstep
