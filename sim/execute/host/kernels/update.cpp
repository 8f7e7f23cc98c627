#include <fmt/format.h>

#include <cmath>

#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// One weight of an update: [gradient, (weight), states ...] -> [weight, states ...]. The weight is
/// read where there is no master copy of it among the states.
class OneWeight {
 public:
  OneWeight(KernelCall& call, std::size_t& read, std::size_t& write) : call_{call} {
    const KernelOperand& gradient = call.read(read++);
    KernelResult& weight = call.write(write++);
    const std::size_t states = states_from(write);
    const bool master = states > 0 && call.write(write).tensor->copy_of.has_value();
    if (!master) next(read, weight);
    for (std::size_t i = 0; i < states; ++i) next(read, call.write(write + i));
    check(gradient, weight);
    KernelResult& trained = master ? call.write(write) : weight;
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
  void next(std::size_t& read, KernelResult& result) {
    const KernelOperand& operand = call_.read(read++);
    if (operand.tensor != result.tensor) {
      refuse(call_,
             fmt::format("reads {} where it writes {}", operand.tensor->name, result.tensor->name));
    }
    result.values = *operand.values;
  }

  void check(const KernelOperand& gradient, const KernelResult& weight) const {
    if (gradient.size() == weight.values.size() &&
        gradient.layout->global_indices() == weight.layout->global_indices()) {
      return;
    }
    refuse(call_, fmt::format("{} is no gradient of {}: it holds another part",
                              gradient.tensor->name, weight.tensor->name));
  }

  /// SGD; momentum: m = mu m + g, w -= eta m; Adam: Kingma and Ba, arXiv 1412.6980, algorithm 1.
  void descend(const KernelOperand& gradient, KernelResult& weight, std::size_t moments) {
    const OptimizerSettings& by = call_.optimizer;
    const Optimizer optimizer = call_.operation->optimizer;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double g = gradient.data()[i];
      double step = by.learning_rate * g;
      if (optimizer == Optimizer::momentum) {
        double& moment = call_.write(moments).values[i];
        moment = by.momentum * moment + g;
        step = by.learning_rate * moment;
      } else if (optimizer == Optimizer::adam) {
        step = by.adam_learning_rate *
               adam(g, call_.write(moments).values[i], call_.write(moments + 1).values[i]);
      }
      weight.values[i] -= step;
    }
  }

  [[nodiscard]] double adam(double g, double& first, double& second) const {
    const OptimizerSettings& by = call_.optimizer;
    first = by.beta1 * first + (1 - by.beta1) * g;
    second = by.beta2 * second + (1 - by.beta2) * g * g;
    const double m = first / (1 - std::pow(by.beta1, call_.step));
    const double v = second / (1 - std::pow(by.beta2, call_.step));
    return m / (std::sqrt(v) + by.epsilon);
  }

  KernelCall& call_;
};

}  // namespace

void update(KernelCall& call) {
  std::size_t read = 0;
  std::size_t write = 0;
  while (write < call.writes.size()) OneWeight{call, read, write};
  if (read != call.reads.size()) refuse(call, "reads more than it updates");
}

}  // namespace lockstep::kernels
