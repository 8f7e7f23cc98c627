#pragma once

#include "sim/cost/cost_model.hpp"

namespace lockstep {

/// A device that executes all FLOPs at one rate, whatever the shape, and everything else in no
/// time, as in published estimates ("28 TFLOP/s sustained").
class SustainedRate final : public CostModel {
 public:
  explicit SustainedRate(FlopRate rate) : rate_{rate} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override;
  [[nodiscard]] Basis basis(const Kernel& /*kernel*/) const override {
    return {Provenance::assumed, "the sustained rate of the scenario"};
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  FlopRate rate_;
};

}  // namespace lockstep
