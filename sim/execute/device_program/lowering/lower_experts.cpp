#include <map>

#include "sim/execute/device_program/lowering/lowering_parts.hpp"
#include "sim/execute/kernels/kernel_list.hpp"

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

/// `experts`: which read says what tokens choose.
[[nodiscard]] Visits assigned(Lowering& to, std::size_t experts, const Tensor& tensor,
                              const PartLayout& slots) {
  kernels::check_whole(to.call, tensor, slots.axes[0]);
  const PartLayout& chosen = to.in(experts);
  const std::int64_t room = slots.axes[1].length();
  Visits out{width_of(slots), width_of(chosen), chosen.elements(), slots.axes[0].length() * room,
             to.scratch({chosen.elements(), NumberType::fp64, {}})};
  Groups groups = groups_of(to, *to.read_tensors[experts], chosen);
  KernelLaunch& launch =
      to.add(F::assign_slots, slots.axes[0].length(), {read(experts)}, {out.slot});
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
  to.clear(0);
  std::vector<LoweredOperand> from{x, visits.slot};
  if (weights != nullptr) from.push_back(*weights);
  to.add(F::send_to_slots, visits.count * visits.width, std::move(from), {written(0)}).sizes = {
      visits.width, visits.choices, visits.slots, weights == nullptr ? 0 : 1};
}

void take(Lowering& to, const Visits& visits, const LoweredOperand* weights) {
  std::vector<LoweredOperand> from{read(0), visits.slot};
  if (weights != nullptr) from.push_back(*weights);
  to.add(F::take_from_slots, to.to(0).elements(), std::move(from), {written(0)}).sizes = {
      visits.width, visits.choices, visits.slots, weights == nullptr ? 0 : 1};
}

}  // namespace

/// [logits] -> [weights, experts]
void router(Lowering& to) {
  kernels::check_whole(to.call, *to.read_tensors[0], to.in(0).axes.back());
  KernelLaunch& launch = to.each(F::route);
  launch.count = rows_of(to.in(0));
  launch.sizes = {width_of(to.in(0)), width_of(to.to(0))};
}

/// [logits, weights, experts, g_weights] -> [g_logits]
void router_backward(Lowering& to) {
  KernelLaunch& launch = to.each(F::route_gradient);
  launch.count = rows_of(to.in(0));
  launch.sizes = {width_of(to.in(0)), width_of(to.in(1))};
}

/// [x, experts] -> [slots]
void dispatch(Lowering& to) {
  send(to, assigned(to, 1, *to.tensors[0], to.to(0)), read(0), nullptr);
}

/// [g_slots, experts] -> [g_x]
void dispatch_backward(Lowering& to) {
  take(to, assigned(to, 1, *to.read_tensors[0], to.in(0)), nullptr);
}

/// [slots, weights, experts] -> [y]
void combine(Lowering& to) {
  const LoweredOperand weights = read(1);
  take(to, assigned(to, 2, *to.read_tensors[0], to.in(0)), &weights);
}

/// [slots, weights, experts, g_y] -> [g_slots, g_weights]
void combine_backward(Lowering& to) {
  const LoweredOperand weights = read(1);
  const Visits visits = assigned(to, 2, *to.read_tensors[0], to.in(0));
  send(to, visits, read(3), &weights);
  to.add(F::weight_gradient, visits.count, {read(0), visits.slot, read(3)}, {written(1)}).sizes = {
      visits.width, visits.choices, visits.slots};
}

}  // namespace lockstep::lowering
