#pragma once

#include <memory>

#include "sim/execute/device_program/device_step.hpp"
#include "sim/execute/program/computations.hpp"
#include "sim/execute/program/exchanges.hpp"
#include "sim/execute/program_order/drawn_order.hpp"
#include "sim/execute/run_program/simulated_order.hpp"

/// Components of an execution. Internal to this folder.
namespace lockstep::execution {

template <class Real>
class ExecutionParts final : public OperationRunner {
 public:
  ExecutionParts(const Program& program, ExecutionOptions options);

  double step();

  void begin(RankCursor& cursor, std::uint32_t operation) override {
    exchanges_.begin(cursor, operation);
  }
  [[nodiscard]] bool end(RankCursor& cursor, std::uint32_t operation) override;
  [[nodiscard]] std::int64_t allocate(RankCursor& cursor, std::uint32_t instance) override {
    return values_.allocate(cursor, instance);
  }
  [[nodiscard]] std::int64_t elements(const RankCursor& cursor,
                                      std::uint32_t instance) const override {
    return std::ssize(values_.held(cursor.rank, instance).values);
  }
  void release(RankCursor& cursor, std::uint32_t instance) override {
    values_.release(cursor, instance);
  }

  [[nodiscard]] const ExecutionState& state() const { return state_; }
  [[nodiscard]] ValueStore<Real>& values() { return values_; }
  [[nodiscard]] const ValueStore<Real>& values() const { return values_; }
  [[nodiscard]] const SimulatedOrder* simulated() const { return simulated_.get(); }
  [[nodiscard]] int steps() const { return steps_; }
  void set_steps(int steps) { steps_ = steps; }

 private:
  ExecutionOptions options_;
  ExecutionState state_;
  ValueStore<Real> values_;
  Computations<Real> computations_;
  Exchanges<Real> exchanges_;
  DrawnOrder drawn_;
  std::unique_ptr<SimulatedOrder> simulated_{};            // null: random order
  std::unique_ptr<DeviceTrainingStep<Real>> on_device_{};  // null: computed on the host
  int steps_ = 0;
};

}  // namespace lockstep::execution
