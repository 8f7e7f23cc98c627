#include <cmath>

#include "sim/execute/device_program/lowering/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

void set_rule(const KernelSettings& call, KernelLaunch& launch, bool master) {
  const OptimizerSettings& by = call.optimizer;
  const bool adam = call.operation->optimizer == Optimizer::adam;
  const bool momentum = call.operation->optimizer == Optimizer::momentum;
  launch.sizes = {adam ? 2 : momentum ? 1 : 0, master ? 1 : 0};
  launch.numbers = {adam ? by.adam_learning_rate : by.learning_rate,
                    adam ? by.beta1 : by.momentum,
                    by.beta2,
                    1 - by.beta1,
                    1 - by.beta2,
                    1 - std::pow(by.beta1, call.step),
                    1 - std::pow(by.beta2, call.step),
                    by.epsilon};
}

/// From the reads and writes on that come next.
void one_weight(Lowering& to, std::size_t& reads, std::size_t& writes) {
  const std::size_t weight = writes++;
  const std::size_t first_state = writes;
  while (writes < to.writes.size() && to.tensors[writes]->category == Category::optimizer_state) {
    ++writes;
  }
  const bool master = writes > first_state && to.tensors[first_state]->copy_of;
  std::vector<LoweredOperand> from{read_number(reads++)};
  const std::size_t states = writes - first_state + (master ? 0 : 1);
  for (std::size_t i = 0; i < states; ++i) from.push_back(read_number(reads++));
  std::vector<LoweredOperand> results;
  if (!master) results.push_back(written_number(weight));
  for (std::size_t i = first_state; i < writes; ++i) results.push_back(written_number(i));
  if (master) results.push_back(written_number(weight));
  set_rule(to.call,
           to.add(F::descend, to.writes[weight]->elements(), std::move(from), std::move(results)),
           master);
}

}  // namespace

/// [gradient, (weight), states ...] -> [weight, states ...] for every weight, as the host's kernel
/// reads them. A first state that is a copy of the weight is the one that is trained.
void update(Lowering& to) {
  std::size_t reads = 0;
  for (std::size_t writes = 0; writes < to.writes.size();) one_weight(to, reads, writes);
}

}  // namespace lockstep::lowering
