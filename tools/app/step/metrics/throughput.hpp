#pragma once

#include <optional>
#include <string>

#include "sim/program/program.hpp"
#include "strategies/scenario/scenario.hpp"

namespace lockstep::app {

/// How fast a step trains, and how well that uses the GPUs.
struct Throughput {
  Duration step;  // of parameter averaging: the mean of the steps from one average to the next
  double step_s = 0;
  double samples_per_s = 0;
  std::string sample;                         // "sequence", "image", "clip"
  std::optional<double> tokens_per_s{};       // where samples are made of tokens
  double model_flops = 0;                     // of a step, what the model itself needs
  double hardware_flops = 0;                  // of a step, all that the GPUs do
  double model_flops_per_gpu = 0;             // per second
  std::optional<double> peak_per_gpu{};       // dense, in the precision of the products
  std::optional<double> bf16_peak_per_gpu{};  // of runs in 8 bits: the dense bf16 peak
  std::string precision{};                    // of the peak: "bf16"
  std::string convention{};                   // what counts as the model's, in words
  std::string peak_words{};                   // "dense bf16 peak of 989.4 TFLOP/s"
  std::optional<double> training_s{};         // for the scenario's tokens or samples
  std::optional<double> gpu_hours{};          // of all GPUs, for the same
  /// The rule of thumb 6 N D for the budget, at the speed of the products.
  std::optional<double> six_n_d{};
  std::optional<double> six_n_d_s{};

  [[nodiscard]] std::optional<double> mfu() const;
  [[nodiscard]] std::optional<double> hfu() const;
  /// Over the bf16 peak, for comparison of runs in 8 bits with others; none of others.
  [[nodiscard]] std::optional<double> bf16_mfu() const;
};

[[nodiscard]] Throughput throughput_of(const Scenario& scenario, const Program& program,
                                       Duration step);

/// Floating-point operations that all ranks' kernels do in a step: products, attention and
/// convolutions, recomputation included.
[[nodiscard]] double hardware_flops(const Program& program);

}  // namespace lockstep::app
