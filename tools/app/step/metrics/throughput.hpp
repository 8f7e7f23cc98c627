#pragma once

#include <optional>
#include <string>

#include "sim/program/program.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// How model FLOPs are counted: of experts with a capacity below the mean load those that it
/// admits.
[[nodiscard]] FlopConvention flop_convention(const ParallelConfig& parallel);

/// Training throughput and utilization of the GPUs.
struct Throughput {
  Duration step;  // with parameter averaging, the mean over a cycle
  double step_s = 0;
  double samples_per_s = 0;
  std::string sample;                         // "sequence", "image", "clip"
  std::optional<double> tokens_per_s{};       // if samples consist of tokens
  double model_flops = 0;                     // per step, of the model itself
  double hardware_flops = 0;                  // per step, executed
  double model_flops_per_gpu = 0;             // per second
  std::optional<double> peak_per_gpu{};       // dense, in the precision of the GEMMs
  std::optional<double> bf16_peak_per_gpu{};  // of fp8 runs: the dense bf16 peak
  std::string precision{};                    // of the peak: "bf16"
  FlopConvention convention{};                // of model FLOPs
  std::optional<double> training_s{};         // for the scenario's tokens or samples
  std::optional<double> gpu_hours{};          // all GPUs, for the whole training
  /// Training time by the estimate 6 N D at the model FLOP rate.
  std::optional<double> six_n_d{};
  std::optional<double> six_n_d_s{};

  [[nodiscard]] std::optional<double> mfu() const;
  [[nodiscard]] std::optional<double> hfu() const;
  /// MFU over the bf16 peak, to compare fp8 runs with others; none for others.
  [[nodiscard]] std::optional<double> bf16_mfu() const;
};

[[nodiscard]] Throughput throughput_of(const Scenario& scenario, const Program& program,
                                       Duration step);

/// FLOPs of all ranks' kernels in a step: GEMMs, attention and convolutions, recomputation
/// included.
[[nodiscard]] double hardware_flops(const Program& program);

}  // namespace lockstep::app
