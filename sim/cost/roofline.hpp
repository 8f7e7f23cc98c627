#pragma once

#include "sim/cost/cost_model.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/cost/gemm_time.hpp"

namespace lockstep {

/// Kernel times from shapes. GEMMs and attention take the maximum of compute time (gemm_time.hpp,
/// attention_time.hpp) and memory time; all other kernels are memory-bound at the efficiency of
/// their class; a launch precedes each. No kernel exceeds the peak FLOP rate or memory bandwidth.
class Roofline final : public CostModel {
 public:
  explicit Roofline(DeviceModel model);
  [[nodiscard]] Duration time(const Kernel& kernel) const override;
  [[nodiscard]] Duration host_time(const Kernel& kernel) const override;
  [[nodiscard]] Basis basis(const Kernel& kernel) const override;
  [[nodiscard]] Basis host_basis() const override {
    return model_.basis ? model_.basis->host_time : Basis{};
  }
  [[nodiscard]] bool host_waits_for_messages() const override {
    return model_.host_waits_for != HostWait::nothing;
  }
  [[nodiscard]] bool host_waits_for_passes() const override {
    return model_.host_waits_for == HostWait::passes;
  }
  [[nodiscard]] std::optional<Rate> peer_rate() const override { return model_.peer_rate; }
  [[nodiscard]] double slowdown_while_communicating() const override {
    return model_.slowdown_while_communicating;
  }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  [[nodiscard]] double seconds(const Kernel& kernel) const;
  [[nodiscard]] double issuing(const Kernel& kernel) const;
  /// Seconds of the matrix units; 0 for memory-bound kernels.
  [[nodiscard]] double computing(const Kernel& kernel) const;
  [[nodiscard]] double products(const Kernel& kernel, const GemmShape& shape) const;
  [[nodiscard]] Basis basis_of_computing(const Kernel& kernel) const;
  [[nodiscard]] Basis basis_of_moving(const Kernel& kernel) const;
  [[nodiscard]] double gemm(const Kernel& kernel) const;
  /// Seconds of additional kernels of a GEMM, on that many bytes or elements.
  [[nodiscard]] double adding_to_sum(const Kernel& kernel, const GemmParameters& figures) const;
  [[nodiscard]] double additional_kernels(const KindFigures& figures, double amount) const;
  /// Seconds of casts of operands to at most 8 bits.
  [[nodiscard]] double casting(const Kernel& kernel) const;
  [[nodiscard]] double convolution(const Kernel& kernel) const;
  /// Seconds of GEMMs one after the other.
  [[nodiscard]] double series(const Kernel& kernel) const;
  [[nodiscard]] double attention(const Kernel& kernel) const;
  [[nodiscard]] double unfused_attention(const Kernel& kernel) const;
  [[nodiscard]] double unfused_products(const Kernel& kernel) const;
  [[nodiscard]] double moving(const Kernel& kernel) const;
  /// Seconds to move bytes at the efficiency of a class.
  [[nodiscard]] double moved(double bytes, OperationClass of) const;
  /// The same with kernels that the multiprocessors may limit instead.
  [[nodiscard]] double moved_by(const KindFigures& figures, double bytes, OperationClass of) const;
  [[nodiscard]] const KindFigures& figures_of(const Kernel& kernel) const;

  DeviceModel model_;
};

}  // namespace lockstep
