#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/measure/validation/comparison.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

/// Why a measured row is neither simulated nor fitted to.
enum class UnmodeledReason : std::uint8_t {
  error,                 // `problems`
  missing_layer,         // its program has no layer, for the time `quantity`
  shape_not_printed,     // of the GEMM that reached a rate
  host_link,             // a copy to the host: no parameter of the device
  attention_over_gpus,   // one attention over several GPUs
  no_chosen_algorithm,   // no times of an algorithm that NCCL chooses
  no_fitted_parameters,  // kernels other than GEMMs and fused attention
  assumed_fields,        // its source does not print all of it
  few_runs,              // `runs` that can be modeled are too few to fit a stack to
  no_better_fit,         // than the shipped host time and slowdown
  host_time_at_limit,    // the best host time of a stack is near the end of its range
  slowdown_at_limit,     // the best slowdown during communication is near the end of its range
};

/// A row that cannot be modeled, and why.
struct UnmodeledRow {
  std::string id;
  std::string group;
  UnmodeledReason reason = UnmodeledReason::error;
  std::vector<RequestProblem> problems{};  // places of files: JSON pointers
  std::optional<ComparedQuantity> quantity{};
  std::size_t runs = 0;
};

}  // namespace lockstep::app
