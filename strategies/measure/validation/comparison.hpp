#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/run_kind.hpp"

/// Measured and simulated.
namespace lockstep {

/// What is compared. Errors are of times, except where rates or bytes were measured.
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
};
inline constexpr std::size_t kComparedQuantities =
    static_cast<std::size_t>(ComparedQuantity::launch_time) + 1;
[[nodiscard]] std::string_view to_string(ComparedQuantity quantity);
[[nodiscard]] std::optional<ComparedQuantity> parse_compared_quantity(std::string_view text);
/// s, B, B/s or FLOP/s.
[[nodiscard]] std::string_view unit_of(ComparedQuantity quantity);

/// One figure, in the quantity's unit.
struct Comparison {
  std::string id;
  std::string group;
  ComparedQuantity quantity = ComparedQuantity::step_time;
  double measured = 1;  // > 0
  double simulated = 1;
  bool assumed = false;  // the row has fields that its source does not print
  bool core = false;
  std::string stack{};   // of training runs
  double said_slow = 0;  // by what its notes say the machine was slow; `simulated` has it in
  /// Rows of one layout set differ in how one model is spread over the same GPUs, and in nothing
  /// else; empty: of none.
  std::string layout_set{};
  std::optional<RunKind> kind{};  // of step times
  /// Of step times: at the dense peak, what the model alone would take; none: no peak is known.
  std::optional<double> at_peak{};

  /// Signed and relative: 0.1 is a tenth too much.
  [[nodiscard]] double error() const { return simulated / measured - 1; }
};

/// What could not be modelled, and why.
struct LeftOut {
  std::string id;
  std::string group;
  std::string reason;
};

}  // namespace lockstep
