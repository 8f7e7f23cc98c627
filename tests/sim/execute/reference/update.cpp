#include <fmt/format.h>

#include <cmath>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// Factors that are the same for all elements, rounded once.
template <class Real>
struct Adam {
  Adam(const OptimizerSettings& by, int step)
      : beta1{static_cast<Real>(by.beta1)},
        beta2{static_cast<Real>(by.beta2)},
        rest1{static_cast<Real>(1 - by.beta1)},
        rest2{static_cast<Real>(1 - by.beta2)},
        unbiased1{static_cast<Real>(1 - std::pow(by.beta1, step))},
        unbiased2{static_cast<Real>(1 - std::pow(by.beta2, step))},
        epsilon{static_cast<Real>(by.epsilon)} {}

  [[nodiscard]] Real step(Real g, Real& first, Real& second) const {
    first = beta1 * first + rest1 * g;
    second = beta2 * second + rest2 * g * g;
    return first / unbiased1 / (std::sqrt(second / unbiased2) + epsilon);
  }

  Real beta1;
  Real beta2;
  Real rest1;
  Real rest2;
  Real unbiased1;
  Real unbiased2;
  Real epsilon;
};

/// One weight of an update: [gradient, (weight), states ...] -> [weight, states ...]. The weight is
/// read where there is no master copy of it among the states.
template <class Real>
class OneWeight {
 public:
  OneWeight(KernelCall<Real>& call, std::size_t& read, std::size_t& write) : call_{call} {
    const KernelOperand<Real>& gradient = call.read(read++);
    KernelResult<Real>& weight = call.write(write++);
    const std::size_t states = states_from(write);
    const bool master = states > 0 && call.write(write).tensor->copy_of.has_value();
    if (!master) next(read, weight);
    for (std::size_t i = 0; i < states; ++i) next(read, call.write(write + i));
    check(gradient, weight);
    KernelResult<Real>& trained = master ? call.write(write) : weight;
    const std::size_t moments = write + (master ? 1 : 0);
    descend(gradient, trained, moments);
    if (master) weight.values = trained.values;
    write += states;
  }

 private:
  [[nodiscard]] std::size_t states_from(std::size_t write) const {
    std::size_t count = 0;
    while (write + count < call_.writes.size() &&
           call_.writes[write + count].tensor->category == Category::optimizer_state) {
      ++count;
    }
    return count;
  }

  /// What was read becomes what is written, until it is updated.
  void next(std::size_t& read, KernelResult<Real>& result) {
    const KernelOperand<Real>& operand = call_.read(read++);
    if (operand.tensor != result.tensor) {
      refuse(call_,
             fmt::format("reads {} where it writes {}", operand.tensor->name, result.tensor->name));
    }
    result.values = *operand.values;
  }

  void check(const KernelOperand<Real>& gradient, const KernelResult<Real>& weight) const {
    if (gradient.size() == weight.values.size() &&
        gradient.layout->global_indices() == weight.layout->global_indices()) {
      return;
    }
    refuse(call_, fmt::format("{} is no gradient of {}: it holds another part",
                              gradient.tensor->name, weight.tensor->name));
  }

  /// SGD; momentum: m = mu m + g, w -= eta m; outer: w -= eta (g + mu m) instead; Adam: Kingma and
  /// Ba, arXiv 1412.6980, algorithm 1.
  void descend(const KernelOperand<Real>& gradient, KernelResult<Real>& weight,
               std::size_t moments) {
    const bool adam = call_.operation->optimizer == Optimizer::adam;
    const bool momentum = call_.operation->optimizer == Optimizer::momentum;
    const OptimizerSettings& by = call_.optimizer;
    const bool outer = call_.operation->optimizer == Optimizer::outer;
    const auto rate = static_cast<Real>(adam    ? by.adam_learning_rate
                                        : outer ? by.outer_learning_rate
                                                : by.learning_rate);
    const Adam<Real> rule{by, call_.step};
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      Real step = gradient.data()[i];
      if (momentum) {
        Real& moment = call_.write(moments).values[i];
        step = moment = static_cast<Real>(by.momentum) * moment + step;
      } else if (outer) {
        const auto mu = static_cast<Real>(by.outer_momentum);
        Real& moment = call_.write(moments).values[i];
        moment = mu * moment + step;
        step += mu * moment;
      } else if (adam) {
        step = rule.step(step, call_.write(moments).values[i], call_.write(moments + 1).values[i]);
      }
      weight.values[i] -= rate * step;
    }
  }

  KernelCall<Real>& call_;
};

}  // namespace

template <class Real>
void update(KernelCall<Real>& call) {
  std::size_t read = 0;
  std::size_t write = 0;
  while (write < call.writes.size()) OneWeight<Real>{call, read, write};
  if (read != call.reads.size()) refuse(call, "reads more than it updates");
}

template void update(KernelCall<float>&);
template void update(KernelCall<double>&);

}  // namespace lockstep::kernels
