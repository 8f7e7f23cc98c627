#pragma once

#include <array>
#include <memory>

#include "sim/cost/cost_model.hpp"

namespace lockstep {

/// By OperationClass: factors on the rate of kernels, above 0.
using KernelRateFactors = std::array<double, kOperationClasses>;

/// Another cost model with faster or slower kernels: the time of a kernel divided by the factor of
/// its class, and the host's time per launch times a factor above 0.
class ScaledRates final : public CostModel {
 public:
  ScaledRates(std::unique_ptr<CostModel> of, const KernelRateFactors& rates, double host_time)
      : of_{std::move(of)}, rates_{rates}, host_time_{host_time} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override;
  [[nodiscard]] Duration host_time(const Kernel& kernel) const override;
  /// Factors are what-ifs.
  [[nodiscard]] Basis basis(const Kernel& kernel) const override;
  [[nodiscard]] Basis host_basis() const override;
  [[nodiscard]] bool host_waits_for_messages() const override {
    return of_->host_waits_for_messages();
  }
  [[nodiscard]] bool host_waits_for_passes() const override { return of_->host_waits_for_passes(); }
  [[nodiscard]] std::optional<Rate> peer_rate() const override { return of_->peer_rate(); }
  [[nodiscard]] double slowdown_while_communicating() const override {
    return of_->slowdown_while_communicating();
  }

 private:
  std::unique_ptr<CostModel> of_;
  KernelRateFactors rates_;
  double host_time_;
};

}  // namespace lockstep
