#include "sim/program/role_instances.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Whether two operands of a routine name the same instance in every call.
[[nodiscard]] bool same(const Ref& a, const Ref& b, Scope scope) {
  if (a.tensor != b.tensor) return false;
  if (scope == Scope::step) return true;
  const bool same_position = a.position == b.position && (a.position || a.further == b.further);
  return same_position && (scope == Scope::layer || a.microbatch == b.microbatch);
}

}  // namespace

RoleInstances::RoleInstances(const Program& program, std::size_t role)
    : program_{program}, routines_(program.routines.size()), cells_(program.tensors.size()) {
  std::set<std::pair<RoutineId, int>> seen;
  std::pair<RoutineId, int> last{UINT32_MAX, 0};
  for (const Call& call : program.roles[role].calls) {
    microbatches_ = std::max(microbatches_, call.microbatch + 1);
    const std::pair now{call.routine, call.position};
    if (now == last || !seen.insert(now).second) continue;
    last = now;
    add_names(call.routine);
    note_positions(call.routine, call.position);
  }
  place_cells();
}

void RoleInstances::add_names(RoutineId routine) {
  RoutineNames& names = routines_[routine];
  if (std::exchange(names.known, true)) return;
  for (const Operation& operation : program_.routines[routine].operations) {
    add_operands(operation.reads, names);
    add_operands(operation.writes, names);
  }
  for (const Name& name : names.names)
    microbatches_ = std::max(microbatches_, name.ref.microbatch.value_or(0) + 1);
}

void RoleInstances::add_operands(const std::vector<Ref>& refs, RoutineNames& names) const {
  for (const Ref& ref : refs) {
    LOCKSTEP_CHECK(ref.tensor < cells_.size());
    const Scope scope = program_.tensors[ref.tensor].scope;
    const auto known = std::find_if(names.names.begin(), names.names.end(),
                                    [&](const Name& name) { return same(name.ref, ref, scope); });
    names.of_operand.push_back(static_cast<std::uint32_t>(known - names.names.begin()));
    if (known == names.names.end()) names.names.push_back({ref, scope});
  }
}

int RoleInstances::position_of(const Name& name, int call_position) {
  if (name.scope == Scope::step) return 0;
  return name.ref.position.value_or(call_position + name.ref.further);
}

void RoleInstances::note_positions(RoutineId routine, int position) {
  for (const Name& name : routines_[routine].names) {
    const int at = position_of(name, position);
    LOCKSTEP_CHECK(at >= 0 && at < kMost);
    Cells& cells = cells_[name.ref.tensor];
    cells.first_position = cells.used ? std::min(cells.first_position, at) : at;
    cells.last_position = cells.used ? std::max(cells.last_position, at) : at;
    cells.used = true;
    const auto place = static_cast<std::size_t>(at);
    if (place >= place_of_position_.size()) place_of_position_.resize(place + 1, kNone);
    place_of_position_[place] = 0;
  }
}

/// Positions that no call names, those of other roles, get no cells.
void RoleInstances::place_cells() {
  LOCKSTEP_CHECK(microbatches_ <= kMost);
  std::uint32_t positions = 0;
  for (std::uint32_t& place : place_of_position_)
    if (place != kNone) place = positions++;
  std::size_t next = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cells& cells = cells_[i];
    if (!cells.used) continue;
    const std::size_t across = place_of_position_[static_cast<std::size_t>(cells.last_position)] -
                               place_of_position_[static_cast<std::size_t>(cells.first_position)] +
                               1;
    const bool of_microbatch = program_.tensors[i].scope == Scope::microbatch;
    cells.first = next;
    next += across * (of_microbatch ? static_cast<std::size_t>(microbatches_) : 1);
  }
  numbers_.assign(next, kNone);
}

TensorInstance RoleInstances::instance_of(const Name& name, const Call& call) const {
  TensorInstance out{name.ref.tensor, position_of(name, call.position), 0};
  if (name.scope == Scope::microbatch)
    out.microbatch = name.ref.microbatch.value_or(call.microbatch);
  return out;
}

std::size_t RoleInstances::cell_of(const Name& name, const TensorInstance& instance) const {
  const Cells& cells = cells_[instance.tensor];
  const std::size_t place = place_of_position_[static_cast<std::size_t>(instance.position)] -
                            place_of_position_[static_cast<std::size_t>(cells.first_position)];
  if (name.scope != Scope::microbatch) return cells.first + place;
  return cells.first + place * static_cast<std::size_t>(microbatches_) +
         static_cast<std::size_t>(instance.microbatch);
}

std::span<const std::uint32_t> RoleInstances::of(const Call& call,
                                                 std::vector<TensorInstance>& instances) {
  const RoutineNames& names = routines_[call.routine];
  of_name_.clear();
  for (const Name& name : names.names) {
    const TensorInstance instance = instance_of(name, call);
    LOCKSTEP_CHECK(instance.microbatch >= 0);
    std::uint32_t& number = numbers_[cell_of(name, instance)];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(instances.size());
      instances.push_back(instance);
    }
    of_name_.push_back(number);
  }
  operands_.clear();
  for (const std::uint32_t name : names.of_operand) operands_.push_back(of_name_[name]);
  return operands_;
}

}  // namespace lockstep
