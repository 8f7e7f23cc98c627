#include "sim/execute/run_program/execute_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/execute/run_program/execution_parts.hpp"

namespace lockstep {

namespace execution {

namespace {

[[nodiscard]] std::vector<RoleProgram> roles_of(const Program& program,
                                                const ExecutionOptions& options) {
  std::vector<RoleProgram> roles;
  for (std::size_t i = 0; i < program.roles.size(); ++i) roles.push_back(unroll(program, i));
  if (options.revise) std::for_each(roles.begin(), roles.end(), options.revise);
  return roles;
}

}  // namespace

template <class Real>
ExecutionParts<Real>::ExecutionParts(const Program& program, ExecutionOptions options)
    : options_{std::move(options)},
      state_{program, roles_of(program, options_),
             options_.timeline != nullptr ? 0 : options_.queue_slots},
      values_{state_, options_},
      computations_{state_, options_, values_},
      exchanges_{state_, options_, values_, options_.timeline == nullptr},
      drawn_{state_, *this, options_.order_seed} {
  LOCKSTEP_CHECK(options_.queue_slots >= 1);
  LOCKSTEP_CHECK(options_.device == nullptr || options_.timeline == nullptr);
  if (options_.device != nullptr) {
    on_device_ =
        std::make_unique<DeviceTrainingStep<Real>>(state_, options_, values_, computations_);
  }
  if (options_.timeline == nullptr) return;
  simulated_ = std::make_unique<SimulatedOrder>(state_, *options_.timeline, *this,
                                                options_.expert_slots == 0);
}

template <class Real>
double ExecutionParts<Real>::step() {
  ++steps_;
  state_.begin_step();
  values_.begin_step(steps_);
  computations_.begin_step(steps_);
  exchanges_.begin_step();
  if (on_device_ != nullptr) {
    on_device_->run();
  } else if (simulated_ != nullptr) {
    simulated_->run();
  } else {
    drawn_.run();
  }
  return computations_.loss();
}

template <class Real>
bool ExecutionParts<Real>::end(RankCursor& cursor, std::uint32_t operation) {
  if (row_of(cursor.kind(operation)).exchange) return exchanges_.end(cursor, operation);
  computations_.run(cursor, operation);
  return true;
}

template class ExecutionParts<float>;
template class ExecutionParts<double>;

}  // namespace execution

template <class Real>
BasicProgramExecution<Real>::BasicProgramExecution(const Program& program, ExecutionOptions options)
    : parts_{std::make_unique<execution::ExecutionParts<Real>>(program, std::move(options))} {}

template <class Real>
BasicProgramExecution<Real>::~BasicProgramExecution() = default;

template <class Real>
double BasicProgramExecution<Real>::step() {
  return parts_->step();
}

template <class Real>
std::int64_t BasicProgramExecution<Real>::operations() const {
  return parts_->state().operations();
}

template <class Real>
AllocationRecord BasicProgramExecution<Real>::allocations(int rank) const {
  LOCKSTEP_CHECK(parts_->simulated() != nullptr);
  const AllocationLog& log = parts_->simulated()->allocations().at(static_cast<std::size_t>(rank));
  const RoleProgram& role = *parts_->state().cursor(rank).role;
  return {log.use(role, false), log.use(role, true)};
}

namespace {

/// What ranks keep between steps, as long as the next step reads it.
template <class Real, class Wanted>
[[nodiscard]] std::vector<BasicHeldWeight<Real>> kept_of(execution::ExecutionParts<Real>& parts,
                                                         Wanted&& name_of) {
  std::vector<BasicHeldWeight<Real>> out;
  for (const execution::RankCursor& cursor : parts.state().cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      execution::HeldValues<Real>& held = parts.values().held(cursor.rank, i);
      const Tensor& tensor = cursor.role->tensor(i);
      const std::string name = name_of(tensor);
      if (!held.kept || !held.read_first || name.empty()) continue;
      const TensorInstance& instance = cursor.role->instances[i];
      out.push_back({cursor.rank, name, tensor.name, instance.position,
                     &parts.values().layout_of(instance.tensor, cursor.rank), &held.values});
    }
  }
  return out;
}

}  // namespace

template <class Real>
std::vector<BasicHeldWeight<Real>> BasicProgramExecution<Real>::weights() {
  const Program& program = parts_->state().program();
  return kept_of(*parts_, [&](const Tensor& tensor) {
    const bool current = execution::is_weight(program, tensor) && !tensor.lags;
    return current ? execution::original(program, tensor).name : std::string{};
  });
}

template <class Real>
std::vector<BasicHeldWeight<Real>> BasicProgramExecution<Real>::states() {
  const Program& program = parts_->state().program();
  return kept_of(*parts_, [&](const Tensor& tensor) {
    const bool moment = tensor.category == Category::optimizer_state &&
                        (tensor.lags || !execution::is_weight(program, tensor));
    return moment ? tensor.name : std::string{};
  });
}

template <class Real>
void BasicProgramExecution<Real>::take_over(const BasicProgramExecution& from) {
  using Key = std::tuple<int, std::string, int>;  // rank, tensor, position
  std::map<Key, const std::vector<Real>*> known;
  const auto each_kept = [](auto& parts, auto&& visit) {
    for (const execution::RankCursor& cursor : parts.state().cursors()) {
      for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
        auto& held = parts.values().held(cursor.rank, i);
        const int position = cursor.role->instances[i].position;
        if (held.kept) visit(Key{cursor.rank, cursor.role->tensor(i).name, position}, held);
      }
    }
  };
  each_kept(std::as_const(*from.parts_),
            [&](const Key& key, const auto& held) { known[key] = &held.values; });
  each_kept(*parts_, [&](const Key& key, auto& held) {
    const auto found = known.find(key);
    if (found == known.end() || found->second->size() != held.values.size()) {
      throw ExecutionError{fmt::format("{} of block {} of rank {} cannot be taken over",
                                       std::get<1>(key), std::get<2>(key), std::get<0>(key))};
    }
    held.values = *found->second;
  });
  parts_->set_steps(from.parts_->steps());
}

template class BasicProgramExecution<float>;
template class BasicProgramExecution<double>;

}  // namespace lockstep
