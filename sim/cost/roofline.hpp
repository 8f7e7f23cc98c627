#pragma once

#include "sim/cost/cost_model.hpp"
#include "sim/cost/device_model.hpp"

namespace lockstep {

/// Times from shapes. Products and attention take the longer of what the multiprocessors need
/// (gemm_time.hpp, attention_time.hpp) and what moving their tensors takes; everything else
/// moves its tensors at the efficiency of its class; each kernel is launched first. No kernel is
/// faster than the device's peak or its memory.
class Roofline final : public CostModel {
 public:
  explicit Roofline(DeviceModel model);
  [[nodiscard]] Duration time(const Kernel& kernel) const override;
  [[nodiscard]] Duration host_time(const Kernel& kernel) const override;
  [[nodiscard]] bool host_waits_for_messages() const override {
    return model_.host_waits_for != HostWait::nothing;
  }
  [[nodiscard]] std::optional<Rate> peer_rate() const override { return model_.peer_rate; }
  [[nodiscard]] double slowdown_while_communicating() const override {
    return model_.slowdown_while_communicating;
  }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  [[nodiscard]] double seconds(const Kernel& kernel) const;
  [[nodiscard]] double issuing(const Kernel& kernel) const;
  [[nodiscard]] double gemm(const Kernel& kernel) const;
  /// Kernels in addition to a GEMM, on that many bytes or numbers.
  [[nodiscard]] double beside(const KindFigures& figures, double amount) const;
  /// Operands to 8 bits, for a GEMM or once for several.
  [[nodiscard]] double casting(const Kernel& kernel) const;
  [[nodiscard]] double convolution(const Kernel& kernel) const;
  [[nodiscard]] double attention(const Kernel& kernel) const;
  [[nodiscard]] double unfused_attention(const Kernel& kernel) const;
  [[nodiscard]] double moving(const Kernel& kernel) const;
  /// Seconds for that many bytes at the efficiency of a class.
  [[nodiscard]] double moved(double bytes, OperationClass of) const;
  [[nodiscard]] const KindFigures& figures_of(const Kernel& kernel) const;

  DeviceModel model_;
};

}  // namespace lockstep
