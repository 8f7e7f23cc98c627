#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/execute/kernels/kernels.hpp"
#include "sim/execute/program/initial_values.hpp"
#include "sim/program/timeline.hpp"
#include "sim/program/unroll.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

class Backend;

/// The schedule of a collective among `members`, a host last (ranks of the mesh + host number);
/// `operation`: of the first member. Null: computed directly.
using ScheduleOf = std::function<std::shared_ptr<const Schedule>(
    const RoleProgram& role, const RoleOperation& operation, const std::vector<int>& members,
    int root)>;

struct ExecutionOptions {
  std::uint64_t seed = 1;        // of weights and data
  std::uint64_t order_seed = 1;  // of the interleaving
  OptimizerSettings optimizer{};
  SampleOf sample_of{};
  ScheduleOf schedule_of{};
  /// Modifies a role before execution, to test that errors are detected.
  std::function<void(RoleProgram&)> revise{};
  /// Maximum number of in-flight messages per connection (a pair of streams); sends wait for a free
  /// slot. At least 1. Unlimited with a timeline.
  int queue_slots = 1;
  /// Of all ranks and hosts: operations start and end in simulated order, and unused instances are
  /// freed. Null: a random order from the seed, nothing is freed. Must outlive the execution.
  const TrainingStepTimeline* timeline = nullptr;
  /// Tokens per expert instead of Dim::slot. None: enough that none is dropped; 0: the program's.
  std::optional<std::int64_t> expert_slots{};
  /// Which tokens are dropped beyond an expert's capacity; null: none. Must outlive the execution.
  const DroppingRule* dropping = nullptr;
  /// Executes instead of the host, without a timeline, with ranks distributed over its devices.
  /// Null: the host. Must outlive the execution.
  Backend* device = nullptr;
  int devices = 1;
};

}  // namespace lockstep
