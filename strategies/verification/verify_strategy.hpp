#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/program/unroll.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/verification/stage.hpp"
#include "strategies/verification/verification_report.hpp"

/// Checks that a strategy trains like one device: executes the simulated program on real numbers,
/// with collectives by their schedules, and compares with a single device.
namespace lockstep {

class Backend;

struct VerificationOptions {
  int steps = 3;
  std::uint64_t seed = 1;        // of weights and data
  std::uint64_t order_seed = 1;  // of the execution order of ranks and streams
  bool float32 = false;          // trains with SGD: Adam amplifies rounding
  /// If given, the step is also simulated there, executed in that order, and memory is compared;
  /// collectives use the simulation's algorithms.
  std::optional<VerificationStage> stage{};
  std::function<void()> after_step{};
  /// Executes the strategy instead of the host, its ranks distributed over its devices; the
  /// single-device reference stays on the host, and `stage` is ignored. Null: the host.
  Backend* device = nullptr;
  int devices = 1;
  /// Modifies the program or a role before execution, to test that errors are detected.
  std::function<void(Program&)> change{};
  std::function<void(RoleProgram&)> revise{};
};

/// Trains a layout and its reference on the same seeded data. Compares the loss of every step and
/// finally every copy and shard of every weight and optimizer state on every rank. Passes within
/// 1e-10 in float64, 1e-5 in float32.
/// The reference is one device that processes the whole batch at once, without accumulation. With
/// batch norm it processes the replicas' microbatches separately, as each has its own statistics;
/// with limited expert capacity it drops tokens by the same rule per source rank; for parameter
/// averaging it averages replicas in one process, and the report adds the distance from one device.
/// Numerical differences and deadlocks are part of the report. Requires a layout without
/// layout_problems(); InternalError otherwise.
[[nodiscard]] VerificationReport verify_strategy(const ModelConfig& model,
                                                 const ParallelConfig& parallel, int gpus_per_node,
                                                 const VerificationOptions& options = {});

}  // namespace lockstep
