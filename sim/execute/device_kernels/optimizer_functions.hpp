#pragma once

#include <cmath>
#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Optimizers; see functions.hpp.
namespace lockstep::kernels {

/// One weight. [gradient, weight, (moments)] -> [weight, (moments), (copy of the weight)]; -;
/// optimizer (0 SGD, 1 momentum, 2 Adam, 3 Nesterov), whether there is a copy; rate, momentum or
/// beta1, beta2, 1 - beta1, 1 - beta2, 1 - beta1^step, 1 - beta2^step, epsilon. Adam: Kingma and
/// Ba, arXiv 1412.6980, algorithm 1.
template <class Real, class Args = Arguments>
struct Descend {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const auto number = [this](int which) { return static_cast<Real>(a.number[which]); };
    const Real g = load<Real>(a.in[0], i);
    Real step = g;
    int results = 1;
    if (a.size[0] == 1) {
      step = number(1) * load<Real>(a.in[2], i) + g;
      store(a.out[results++], i, step);
    } else if (a.size[0] == 3) {
      const Real moment = number(1) * load<Real>(a.in[2], i) + g;
      store(a.out[results++], i, moment);
      step = g + number(1) * moment;
    } else if (a.size[0] == 2) {
      const Real first = number(1) * load<Real>(a.in[2], i) + number(3) * g;
      const Real second = number(2) * load<Real>(a.in[3], i) + number(4) * g * g;
      store(a.out[results++], i, first);
      store(a.out[results++], i, second);
      step = first / number(5) / (std::sqrt(second / number(6)) + number(7));
    }
    const Real weight = load<Real>(a.in[1], i) - number(0) * step;
    store(a.out[0], i, weight);
    if (a.size[1] != 0) store(a.out[results], i, weight);
  }
};

}  // namespace lockstep::kernels
