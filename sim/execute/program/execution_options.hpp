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

/// The schedule of a collective among `members`, a host standing last (ranks of the mesh + its
/// number); `operation` is what the first of them does. Null: it is done by its meaning.
using ScheduleOf = std::function<std::shared_ptr<const Schedule>(
    const RoleProgram& role, const RoleOperation& operation, const std::vector<int>& members,
    int root)>;

struct ExecutionOptions {
  std::uint64_t seed = 1;        // of weights and data
  std::uint64_t order_seed = 1;  // of the interleaving
  OptimizerSettings optimizer{};
  SampleOf sample_of{};
  ScheduleOf schedule_of{};
  /// Changes what a role does before it is run: to show that a mistake is found.
  std::function<void(RoleProgram&)> revise{};
  /// Messages that wait on one connection, from a stream of one rank to one of another, at most: a
  /// send waits for room. At least 1. No bound where a timeline says when messages come.
  int queue_slots = 1;
  /// Of all ranks and hosts: operations begin and end in simulated order, and what no operation
  /// uses any more is freed. Null: in an order drawn from the seed, and nothing is freed. Must
  /// outlive the execution.
  const TrainingStepTimeline* timeline = nullptr;
  /// Tokens that an expert has room for, in place of what Dim::slot says. None: for all tokens, so
  /// that none is ever dropped; 0: as the program says.
  std::optional<std::int64_t> expert_slots{};
  /// Which tokens experts drop that have no room for all; null: none. Must outlive the execution.
  const DroppingRule* dropping = nullptr;
  /// Who computes in place of the host, without a timeline, ranks being distributed over so many
  /// devices of it. Null: the host. Must outlive the execution.
  Backend* device = nullptr;
  int devices = 1;
};

}  // namespace lockstep
