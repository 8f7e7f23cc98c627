#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/program/unroll.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "strategies/verification/stage.hpp"
#include "strategies/verification/verification_report.hpp"

/// Whether a strategy trains as one device does: the very program that is simulated is executed
/// with real numbers, collectives by their own transfers, and compared with a single device.
namespace lockstep {

class Backend;

struct VerificationOptions {
  int steps = 3;
  std::uint64_t seed = 1;        // of weights and data
  std::uint64_t order_seed = 1;  // of the order in which ranks and streams get to run
  bool float32 = false;          // trains with SGD: Adam makes much of rounding
  /// Where a step is also simulated, executed in that order, and memory compared; its collectives
  /// are then those that the simulation chooses. None: not so.
  std::optional<VerificationStage> stage{};
  std::function<void()> after_step{};
  /// Who executes the strategy in place of the host (the one device that it is compared with stays
  /// the host), its ranks distributed over so many devices. Null: the host. `stage` is then left
  /// out.
  Backend* device = nullptr;
  int devices = 1;
  /// Changes the program, or what a role does, before it is executed: to show that it is noticed.
  std::function<void(Program&)> change{};
  std::function<void(RoleProgram&)> revise{};
};

/// Trains the layout and its reference on the same seeded data and compares the loss of every step,
/// and in the end every copy and shard of every weight and optimizer state on every rank. Passes
/// within 1e-10 in float64, 1e-5 in float32.
///
/// The reference is one device that takes the whole batch at once, so that accumulation is compared
/// against none. Of a net with batch norm it takes the replicas' microbatches one after the other,
/// as each has statistics of its own; of experts with a capacity it drops by the same rule, rank's
/// tokens by rank's tokens; of parameter averaging it averages in one process, and how far that is
/// from one device is reported next to it.
///
/// Errors: none for what is wrong with the layout's numbers, or if its ranks cannot go on: that is
/// the report's to tell. InternalError where layout_problems() has something.
[[nodiscard]] VerificationReport verify_strategy(const ModelConfig& model,
                                                 const ParallelConfig& parallel, int gpus_per_node,
                                                 const VerificationOptions& options = {});

}  // namespace lockstep
