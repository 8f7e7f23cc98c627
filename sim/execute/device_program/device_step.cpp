#include "sim/execute/device_program/device_step.hpp"

#include "sim/base/check.hpp"

namespace lockstep::execution {

template <class Real>
DeviceStep<Real>::DeviceStep(ExecutionState& state, const ExecutionOptions& options,
                             ValueStore<Real>& values, Computations<Real>& computations)
    : state_{state},
      options_{options},
      values_{values},
      computations_{computations},
      planner_{state, needs()},
      order_{state, planner_, options.order_seed} {}

template <class Real>
StepPlanNeeds<Real> DeviceStep<Real>::needs() {
  StepPlanNeeds<Real> out;
  out.layout = [this](const Player& player, std::uint32_t operation,
                      std::uint32_t instance) -> const PartLayout& {
    return values_.layout(player, operation, instance);
  };
  out.layout_of = [this](TensorId tensor, int rank) -> const PartLayout& {
    return values_.layout_of(tensor, rank);
  };
  out.settings = [this](const Player& player, std::uint32_t operation) {
    return computations_.settings(player, operation);
  };
  out.adds = &Computations<Real>::adds;
  out.type = [](const Tensor&) {
    return sizeof(Real) == sizeof(double) ? NumberType::fp64 : NumberType::fp32;
  };
  out.schedule_of = options_.schedule_of;
  out.devices = options_.devices;
  return out;
}

template <class Real>
void DeviceStep<Real>::run() {
  LOCKSTEP_CHECK(options_.device != nullptr);
  planner_.begin_step(
      [this](int rank, std::uint32_t instance) { return values_.held(rank, instance).written; });
  order_.run();
  const auto loaded = options_.device->load(planner_.take());
  bring(*loaded);
  loaded->run();
  fetch(*loaded);
}

template <class Real>
void DeviceStep<Real>::bring(LoadedPlan& loaded) {
  for (const Player& player : state_.players()) {
    for (std::uint32_t i = 0; i < player.role->instances.size(); ++i) {
      const HeldValues<Real>& of = values_.held(player.rank, i);
      if (!of.written) continue;
      loaded.write({planner_.buffer(player.rank, i), 0, std::ssize(of.values)},
                   std::vector<double>(of.values.begin(), of.values.end()));
    }
  }
}

template <class Real>
void DeviceStep<Real>::fetch(LoadedPlan& loaded) {
  for (const Player& player : state_.players()) {
    for (std::uint32_t i = 0; i < player.role->instances.size(); ++i) {
      HeldValues<Real>& of = values_.held(player.rank, i);
      of.writer = planner_.writer(player.rank, i);
      if (of.writer == kNoOperation) continue;
      of.written = true;
      const std::int64_t count =
          values_.layout_of(player.role->instances[i].tensor, player.rank).elements();
      const std::vector<double> values = loaded.read({planner_.buffer(player.rank, i), 0, count});
      of.values.assign(values.begin(), values.end());
    }
    for (std::uint32_t i = 0; i < player.role->operations.size(); ++i) {
      if (player.kind(i) != OperationKind::loss) continue;
      const HeldValues<Real>& of = values_.held(player.rank, player.operation(i).writes[0]);
      computations_.note_loss(player.rank, i, static_cast<double>(of.values.at(0)));
    }
  }
}

template class DeviceStep<float>;
template class DeviceStep<double>;

}  // namespace lockstep::execution
