#pragma once

#include "sim/execute/cuda/plan/backend.hpp"
#include "strategies/box/box.hpp"

namespace lockstep {

/// GPUs that take for every plan what the simulator makes of it with these figures; for kernels
/// 5 us each, for transfers by NCCL twice as long. They hold no numbers.
class KnownGpus final : public Backend {
 public:
  KnownGpus(int count, BoxFit fit) : count_{count}, fit_{std::move(fit)} {}

  [[nodiscard]] std::string name() const override { return "known GPU"; }
  [[nodiscard]] int count() const override { return count_; }
  [[nodiscard]] DeviceFacts facts() const override { return {}; }
  [[nodiscard]] std::unique_ptr<LoadedPlan> load(const Plan& plan,
                                                 const LoadOptions& options) override;
  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t, bool, int) override {
    return {10e-6};
  }
  [[nodiscard]] std::vector<double> library_seconds(Collective, std::int64_t, int, int) override {
    return {100e-6};
  }

 private:
  int count_;
  BoxFit fit_;
};

}  // namespace lockstep
