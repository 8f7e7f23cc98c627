#pragma once

#include "sim/execute/device_kernels/functions.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"

namespace lockstep::kernels {

/// Passes the function of a launch to a runner: each(function) for functions of an index,
/// teams(function) for functions of a team. False if the launch has no device function (on_host).
template <class Real, class Args, class Runner>
bool dispatch(KernelFunction function, const Args& a, Runner& runner) {
  using F = KernelFunction;
#define LOCKSTEP_EACH(name, Type) \
  case F::name:                   \
    return runner.each(Type<Real, Args>{a});  // NOLINT(bugprone-macro-parentheses): a type
#define LOCKSTEP_TEAMS(name, Type) \
  case F::name:                    \
    return runner.teams(Type<Real, Args>{a});  // NOLINT(bugprone-macro-parentheses): a type
  switch (function) {
    LOCKSTEP_KERNEL_FUNCTIONS(LOCKSTEP_EACH, LOCKSTEP_TEAMS)
    default:
      return false;
  }
#undef LOCKSTEP_EACH
#undef LOCKSTEP_TEAMS
}

}  // namespace lockstep::kernels
