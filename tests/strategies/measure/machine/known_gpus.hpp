#pragma once

#include "sim/execute/command_graph/backend.hpp"
#include "strategies/calibration/measured_machine.hpp"

namespace lockstep {

/// GPUs that take for every command graph what the simulator makes of it with these figures; for
/// kernels 5 us each, for transfers by NCCL twice as long. They hold no numbers.
class KnownGpus final : public Backend {
 public:
  KnownGpus(int count, MachineFit fit) : count_{count}, fit_{std::move(fit)} {}

  [[nodiscard]] std::string name() const override { return "known GPU"; }
  [[nodiscard]] int count() const override { return count_; }
  [[nodiscard]] DeviceFacts facts() const override { return {}; }
  [[nodiscard]] std::unique_ptr<LoadedCommandGraph> load(const CommandGraph& graph,
                                                         const LoadOptions& options) override;
  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t, bool, int) override {
    return {10e-6};
  }
  [[nodiscard]] std::vector<double> library_seconds(Collective, std::int64_t, int, int) override {
    return {100e-6};
  }

 private:
  int count_;
  MachineFit fit_;
};

/// Four GPUs with 200 GB/s between two, half of it from 0 to 1, 300 GB/s in all from or to one,
/// 1.5 times as long with both ways at once, each copy 3 us late; memories of 3 TB/s behind 1 us.
[[nodiscard]] MachineFit known_figures();

}  // namespace lockstep
