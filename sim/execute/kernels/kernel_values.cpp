#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "sim/execute/kernels/kernel_checks.hpp"

namespace lockstep::kernels {

namespace {

/// The operands of a call by name.
template <class Real>
class Named {
 public:
  explicit Named(const KernelCall<Real>& call) : call_{call}, row_{row_of(call.operation->kind)} {}

  [[nodiscard]] const KernelOperand<Real>* read(Operand operand) const {
    const auto place = row_.reads.find(operand, call_.reads.size());
    return place ? &call_.reads[*place] : nullptr;
  }
  /// Of an operand or its gradient, read or written; null: none.
  [[nodiscard]] const PartLayout* layout(Operand operand) const {
    for (const Operand each : {operand, gradient_of(operand)}) {
      if (const KernelOperand<Real>* found = read(each)) return found->layout;
      const auto place = row_.writes.find(each, call_.writes.size());
      if (place) return call_.writes[*place].layout;
    }
    return nullptr;
  }

 private:
  const KernelCall<Real>& call_;
  const OperationKindRow& row_;
};

template <class Real>
void check_rows(const KernelCall<Real>& call, const KernelOperand<Real>& numbers,
                std::int64_t rows) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t row = std::llround(numbers.data()[i]);
    if (row < 0 || row >= rows) refuse(call, fmt::format("row {} of {}", row, rows));
  }
}

/// An expert takes no more tokens than it has slots. Without a dropping rule the rest is dropped.
template <class Real>
void check_experts(const KernelCall<Real>& call, const KernelOperand<Real>& chosen,
                   const PartLayout& slots) {
  const PartAxis& sequence = axis_of(call, *chosen.tensor, *chosen.layout, Dim::sequence);
  const PartAxis& batch = axis_of(call, *chosen.tensor, *chosen.layout, Dim::batch);
  const auto choices = static_cast<std::size_t>(chosen.layout->axes.back().length());
  const std::int64_t room = slots.axes[1].length();
  std::map<std::int64_t, std::int64_t> taken;
  std::map<std::pair<int, std::int64_t>, std::int64_t> visits;  // by group and expert
  for (std::size_t visit = 0; visit < chosen.size(); ++visit) {
    const std::int64_t expert = std::llround(chosen.data()[visit]);
    if (expert < 0 || expert >= slots.axes[0].length()) {
      refuse(call, fmt::format("no expert {}", expert));
    }
    if (call.dropping == nullptr) continue;
    const std::size_t token = visit / choices;
    const int group = call.dropping->group_of(batch.at[token / sequence.at.size()],
                                              sequence.at[token % sequence.at.size()]);
    if (visits[{group, expert}]++ >= call.dropping->capacity || taken[expert]++ < room) continue;
    refuse(call, fmt::format("expert {} is to take more tokens than its {} slots", expert, room));
  }
}

}  // namespace

template <class Real>
void check_values(const KernelCall<Real>& call) {
  const OperandList& reads = row_of(call.operation->kind).reads;
  if (!reads.has(Operand::tokens) && !reads.has(Operand::labels) && !reads.has(Operand::experts)) {
    return;
  }
  const Named<Real> named{call};
  const PartLayout* table = named.layout(Operand::table);
  const PartLayout* logits = named.layout(Operand::logits);
  const PartLayout* slots = named.layout(Operand::slots);
  const KernelOperand<Real>* tokens = named.read(Operand::tokens);
  const KernelOperand<Real>* labels = named.read(Operand::labels);
  const KernelOperand<Real>* experts = named.read(Operand::experts);
  if (tokens != nullptr && table != nullptr) check_rows(call, *tokens, table->axes.front().size);
  if (labels != nullptr && logits != nullptr) check_rows(call, *labels, logits->axes.back().size);
  if (experts != nullptr && slots != nullptr) check_experts(call, *experts, *slots);
}

template void check_values(const KernelCall<float>&);
template void check_values(const KernelCall<double>&);

}  // namespace lockstep::kernels
