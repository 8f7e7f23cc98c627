#include <array>
#include <map>

#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

/// Tokens of a rank as they visit experts.
struct Visits {
  std::int64_t width;
  std::int64_t choices;
  std::int64_t count;
  std::int64_t slots;   // rows of all experts
  LoweredOperand slot;  // scratch: of every visit
};

/// The group of every token, numbered from 0 in the order in which they come.
struct Groups {
  Table of_token{};
  std::int64_t count = 1;
};
[[nodiscard]] Groups groups_of(const Lowering& to, const Tensor& tensor, const PartLayout& layout) {
  Groups out;
  if (to.call.dropping == nullptr) return out;
  std::map<int, std::int64_t> numbers;
  for (const std::int64_t b : kernels::axis_of(to.call, tensor, layout, Dim::batch).at) {
    for (const std::int64_t s : kernels::axis_of(to.call, tensor, layout, Dim::sequence).at) {
      const auto next = static_cast<std::int64_t>(numbers.size());
      out.of_token.push_back(
          numbers.try_emplace(to.call.dropping->group_of(b, s), next).first->second);
    }
  }
  out.count = static_cast<std::int64_t>(numbers.size());
  return out;
}

[[nodiscard]] Visits assigned(Lowering& to, const Tensor& tensor, const PartLayout& slots) {
  kernels::check_whole(to.call, tensor, slots.axes[0]);
  const PartLayout& chosen = to.in(Operand::experts);
  const std::int64_t room = slots.axes[1].length();
  Visits out{width_of(slots), width_of(chosen), chosen.elements(), slots.axes[0].length() * room,
             to.scratch({chosen.elements(), NumberType::fp64, {}})};
  Groups groups = groups_of(to, to.tensor_in(Operand::experts), chosen);
  KernelLaunch& launch =
      to.add(F::assign_slots, slots.axes[0].length(), {to.read(Operand::experts)}, {out.slot});
  const std::int64_t share = to.call.dropping == nullptr ? out.count : to.call.dropping->capacity;
  launch.sizes = {out.count, out.choices, room, groups.count, share};
  if (to.call.dropping != nullptr) {
    launch.tables = {std::make_shared<const Table>(std::move(groups.of_token))};
  }
  launch.scratch = kTeamLanes;
  launch.in_doubles = true;  // counts of any size
  return out;
}

/// To the slots of visits, from tokens; what nobody visits is zero.
void send(Lowering& to, const Visits& visits, LoweredOperand x, const LoweredOperand* weights) {
  const Operand slots = to.writes_it(Operand::slots) ? Operand::slots : gradient_of(Operand::slots);
  to.clear(slots);
  std::vector<LoweredOperand> from{x, visits.slot};
  if (weights != nullptr) from.push_back(*weights);
  to.add(F::send_to_slots, visits.count * visits.width, std::move(from), {to.written(slots)})
      .sizes = {visits.width, visits.choices, visits.slots, weights == nullptr ? 0 : 1};
}

/// From the slots of visits, to tokens.
void take(Lowering& to, const Visits& visits, LoweredOperand slots, Operand y,
          const LoweredOperand* weights) {
  std::vector<LoweredOperand> from{slots, visits.slot};
  if (weights != nullptr) from.push_back(*weights);
  to.add(F::take_from_slots, to.to(y).elements(), std::move(from), {to.written(y)}).sizes = {
      visits.width, visits.choices, visits.slots, weights == nullptr ? 0 : 1};
}

void router(Lowering& to) {
  kernels::check_whole(to.call, to.tensor_in(Operand::logits), to.in(Operand::logits).axes.back());
  KernelLaunch& launch = to.each(F::route);
  launch.count = rows_of(to.in(Operand::logits));
  launch.sizes = {width_of(to.in(Operand::logits)), width_of(to.to(Operand::weights))};
}

void router_backward(Lowering& to) {
  KernelLaunch& launch = to.each(F::route_gradient);
  launch.count = rows_of(to.in(Operand::logits));
  launch.sizes = {width_of(to.in(Operand::logits)), width_of(to.in(Operand::weights))};
}

void dispatch(Lowering& to) {
  const Visits visits = assigned(to, to.tensor_to(Operand::slots), to.to(Operand::slots));
  send(to, visits, to.read(Operand::x), nullptr);
}

void dispatch_backward(Lowering& to) {
  constexpr Operand kSlots = gradient_of(Operand::slots);
  const Visits visits = assigned(to, to.tensor_in(kSlots), to.in(kSlots));
  take(to, visits, to.read(kSlots), gradient_of(Operand::x), nullptr);
}

void combine(Lowering& to) {
  const LoweredOperand weights = to.read(Operand::weights);
  const Visits visits = assigned(to, to.tensor_in(Operand::slots), to.in(Operand::slots));
  take(to, visits, to.read(Operand::slots), Operand::y, &weights);
}

void combine_backward(Lowering& to) {
  const LoweredOperand weights = to.read(Operand::weights);
  const LoweredOperand g = to.read(gradient_of(Operand::y));
  const Visits visits = assigned(to, to.tensor_in(Operand::slots), to.in(Operand::slots));
  send(to, visits, g, &weights);
  to.add(F::weight_gradient, visits.count, {to.read(Operand::slots), visits.slot, g},
         {to.written(gradient_of(Operand::weights))})
      .sizes = {visits.width, visits.choices, visits.slots};
}

/// Visits of single numbers, one per choice of a token: router's weights.
[[nodiscard]] Visits numbers(Visits of) {
  of.width = 1;
  of.choices = 1;
  return of;
}

void dispatch_weights(Lowering& to) {
  const Visits visits = assigned(to, to.tensor_to(Operand::slots), to.to(Operand::slots));
  send(to, numbers(visits), to.read(Operand::x), nullptr);
}

void dispatch_weights_backward(Lowering& to) {
  constexpr Operand kSlots = gradient_of(Operand::slots);
  const Visits visits = assigned(to, to.tensor_in(kSlots), to.in(kSlots));
  take(to, numbers(visits), to.read(kSlots), gradient_of(Operand::x), nullptr);
}

void unpermute(Lowering& to) {
  const Visits visits = assigned(to, to.tensor_in(Operand::slots), to.in(Operand::slots));
  take(to, visits, to.read(Operand::slots), Operand::y, nullptr);
}

void unpermute_backward(Lowering& to) {
  constexpr Operand kSlots = gradient_of(Operand::slots);
  const Visits visits = assigned(to, to.tensor_to(kSlots), to.to(kSlots));
  send(to, visits, to.read(gradient_of(Operand::y)), nullptr);
}

}  // namespace

std::span<const KindLowering> experts_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::router, router},
      KindLowering{OperationKind::router_backward, router_backward},
      KindLowering{OperationKind::dispatch, dispatch},
      KindLowering{OperationKind::dispatch_backward, dispatch_backward},
      KindLowering{OperationKind::combine, combine},
      KindLowering{OperationKind::combine_backward, combine_backward},
      KindLowering{OperationKind::dispatch_weights, dispatch_weights},
      KindLowering{OperationKind::dispatch_weights_backward, dispatch_weights_backward},
      KindLowering{OperationKind::unpermute, unpermute},
      KindLowering{OperationKind::unpermute_backward, unpermute_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
