#pragma once

#include "sim/cost/cost_model.hpp"

namespace lockstep {

/// A device that does every floating-point operation at one rate, whatever the shape, and the rest
/// for free: how papers estimate ("28 TFLOP/s sustained").
class SustainedRate final : public CostModel {
 public:
  explicit SustainedRate(FlopRate rate) : rate_{rate} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override;
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  FlopRate rate_;
};

}  // namespace lockstep
