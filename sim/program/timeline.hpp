#pragma once

#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation_times.hpp"
#include "sim/program/unroll.hpp"

/// Start and end of every operation: the result of simulating a program, and the input of the
/// summary, the memory account and the trace.
namespace lockstep {

/// A simulated rank (or host), with as many operations as its role.
struct RankTimeline {
  int rank = 0;  // of the mesh; hosts: ranks + host number
  std::size_t role = 0;
  OperationTimes operations{};  // as RoleProgram::operations
};

struct TrainingStepTimeline {
  std::shared_ptr<const Program> program;
  RolePrograms roles{};               // as Program::roles
  std::vector<RankTimeline> ranks{};  // simulated ranks; others equal one of the same role
  /// Per rank, then per host, of a folded step: its representative among `ranks`. Otherwise empty.
  std::vector<std::uint32_t> representative_of{};
  /// Per role and operation, if hosts wait for messages: the operation whose end the host waited
  /// for last before launching this one; kNothing: none since the start of the step. Empty, as a
  /// whole or for a role: hosts do not wait.
  std::vector<std::vector<std::uint32_t>> launched_after{};
  TimePoint end;
  std::vector<Bytes> link_bytes{};  // per link of the network
};

}  // namespace lockstep
