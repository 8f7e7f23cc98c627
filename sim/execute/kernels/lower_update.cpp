#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

void set_rule(const KernelSettings& call, KernelLaunch& launch, bool master) {
  const OptimizerSettings& by = call.optimizer;
  const bool adam = call.operation->optimizer == Optimizer::adam;
  const bool momentum = call.operation->optimizer == Optimizer::momentum;
  if (call.operation->optimizer == Optimizer::outer) {
    launch.sizes = {3, master ? 1 : 0};
    launch.numbers = {by.outer_learning_rate, by.outer_momentum, 0, 0, 0, 0, 0, 0};
    return;
  }
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

/// One weight of an update: [gradient, (weight), states ...] -> [weight, states ...]. The weight is
/// read unless a first state is a master copy of it, which is trained instead.
class OneWeight {
 public:
  /// From the reads and writes on that come next.
  OneWeight(Lowering& to, std::size_t& reads, std::size_t& writes)
      : to_{to}, weight_{writes++}, first_state_{writes} {
    while (writes < to.writes.size() && to.tensors[writes]->category == Category::optimizer_state) {
      ++writes;
    }
    const bool master = writes > first_state_ && to.tensors[first_state_]->copy_of;
    check_part(reads);
    std::vector<LoweredOperand> from{read_number(reads++)};
    std::vector<LoweredOperand> results;
    if (!master) results.push_back(written_number(weight_));
    for (std::size_t i = first_state_; i < writes; ++i) results.push_back(written_number(i));
    for (const LoweredOperand& result : results) from.push_back(next(reads, result.index));
    if (master) results.push_back(written_number(weight_));
    set_rule(
        to.call,
        to.add(F::descend, to.writes[weight_]->elements(), std::move(from), std::move(results)),
        master);
  }

 private:
  /// What is updated is read before.
  [[nodiscard]] LoweredOperand next(std::size_t& reads, std::size_t write) const {
    const Tensor& read = *to_.read_tensors.at(reads);
    if (&read == to_.tensors[write]) return read_number(reads++);
    kernels::refuse(
        to_.call, fmt::format("reads {} where it writes {}", read.name, to_.tensors[write]->name));
  }
  void check_part(std::size_t gradient) const {
    const PartLayout& own = *to_.reads.at(gradient);
    const PartLayout& weight = *to_.writes[weight_];
    const bool alike = own.axes == weight.axes && own.is_flat == weight.is_flat &&
                       own.first_flat == weight.first_flat && own.flat == weight.flat;
    if (alike || own.global_indices() == weight.global_indices()) return;
    kernels::refuse(to_.call,
                    fmt::format("{} is no gradient of {}: it holds another part",
                                to_.read_tensors[gradient]->name, to_.tensors[weight_]->name));
  }

  Lowering& to_;
  std::size_t weight_;
  std::size_t first_state_;
};

void update(Lowering& to) {
  if (to.operation().matrices) return update_by_stack(to);
  std::size_t reads = 0;
  for (std::size_t writes = 0; writes < to.writes.size();) OneWeight{to, reads, writes};
  if (reads != to.reads.size()) kernels::refuse(to.call, "reads more than it updates");
}

}  // namespace

std::span<const KindLowering> update_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::update, update},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
