#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/run_kind.hpp"

/// Measured and simulated.
namespace lockstep {

/// What is compared. Errors are of times, or of rates and bytes if those were measured.
enum class ComparedQuantity : std::uint8_t {
  step_time,        // s
  layer_forward,    // s
  layer_backward,   // s
  peak_memory,      // bytes
  collective_time,  // s
  bus_bandwidth,    // bytes/s, of large messages
  gemm_time,        // s
  gemm_rate,        // FLOP/s
  attention_time,   // s
  memory_rate,      // bytes/s
  launch_time,      // s
  kernel_time,      // s, of memory-bound kernels
};
inline constexpr std::size_t kComparedQuantities =
    static_cast<std::size_t>(ComparedQuantity::kernel_time) + 1;
[[nodiscard]] std::string_view to_string(ComparedQuantity quantity);
[[nodiscard]] std::optional<ComparedQuantity> parse_compared_quantity(std::string_view text);
/// s, B, B/s or FLOP/s.
[[nodiscard]] std::string_view unit_of(ComparedQuantity quantity);

/// One compared value, in the quantity's unit.
struct Comparison {
  std::string id;
  std::string group;
  ComparedQuantity quantity = ComparedQuantity::step_time;
  double measured = 1;  // > 0
  double simulated = 1;
  bool assumed = false;  // the row has fields that its source does not print
  bool core = false;
  std::string stack{};  // of training runs
  double reported_slowdown =
      0;  // slowdown of the machine reported in the row's notes; included in `simulated`
  double evaluation = 0;  // s, part of `simulated`: forward passes per step that the time contains
  /// Rows of one set are the same run under different parallel layouts; empty: none.
  std::string layout_set{};
  std::optional<RunKind> kind{};  // of step times
  /// Step times: time of the model's FLOPs at the dense peak; none: unknown peak.
  std::optional<double> at_peak{};

  /// Signed relative error; 0.1: simulated is 10 % too high.
  [[nodiscard]] double error() const { return simulated / measured - 1; }
};

}  // namespace lockstep
