#include "sim/execute/device_program/device_step.hpp"

#include "sim/base/check.hpp"

namespace lockstep::execution {

template <class Real>
DeviceTrainingStep<Real>::DeviceTrainingStep(ExecutionState& state, const ExecutionOptions& options,
                                             ValueStore<Real>& values,
                                             Computations<Real>& computations)
    : state_{state},
      options_{options},
      values_{values},
      computations_{computations},
      commands_{state, needs()},
      order_{state, commands_, options.order_seed} {}

template <class Real>
TrainingStepInputs<Real> DeviceTrainingStep<Real>::needs() {
  TrainingStepInputs<Real> out;
  out.layout = [this](const RankCursor& cursor, std::uint32_t operation,
                      std::uint32_t instance) -> const PartLayout& {
    return values_.layout(cursor, operation, instance);
  };
  out.layout_of = [this](TensorId tensor, int rank) -> const PartLayout& {
    return values_.layout_of(tensor, rank);
  };
  out.settings = [this](const RankCursor& cursor, std::uint32_t operation) {
    return computations_.settings(cursor, operation);
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
void DeviceTrainingStep<Real>::run() {
  LOCKSTEP_CHECK(options_.device != nullptr);
  commands_.begin_step(
      [this](int rank, std::uint32_t instance) { return values_.held(rank, instance).written; });
  order_.run();
  const auto loaded = options_.device->load(commands_.take());
  bring(*loaded);
  loaded->run();
  fetch(*loaded);
}

template <class Real>
void DeviceTrainingStep<Real>::bring(LoadedCommandGraph& loaded) {
  for (const RankCursor& cursor : state_.cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      const HeldValues<Real>& of = values_.held(cursor.rank, i);
      if (!of.written) continue;
      loaded.write({commands_.buffer(cursor.rank, i), 0, std::ssize(of.values)},
                   std::vector<double>(of.values.begin(), of.values.end()));
    }
  }
}

template <class Real>
void DeviceTrainingStep<Real>::fetch(LoadedCommandGraph& loaded) {
  for (const RankCursor& cursor : state_.cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      HeldValues<Real>& of = values_.held(cursor.rank, i);
      of.writer = commands_.writer(cursor.rank, i);
      if (of.writer == kNoOperation) continue;
      of.written = true;
      const std::int64_t count =
          values_.layout_of(cursor.role->instances[i].tensor, cursor.rank).elements();
      const std::vector<double> values = loaded.read({commands_.buffer(cursor.rank, i), 0, count});
      of.values.assign(values.begin(), values.end());
    }
    for (std::uint32_t i = 0; i < cursor.role->operations.size(); ++i) {
      if (cursor.kind(i) != OperationKind::loss) continue;
      const HeldValues<Real>& of =
          values_.held(cursor.rank, write_of(cursor.operation(i), Operand::loss));
      computations_.note_loss(cursor.rank, i, static_cast<double>(of.values.at(0)));
    }
  }
}

template class DeviceTrainingStep<float>;
template class DeviceTrainingStep<double>;

}  // namespace lockstep::execution
