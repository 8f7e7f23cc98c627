#pragma once

#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/unroll.hpp"

/// When everything happened: what simulating a program gives, and what the summary, the memory
/// account and the trace are made of.
namespace lockstep {

struct Interval {
  TimePoint start;
  TimePoint end;
};

/// One rank (or host) that was simulated, as long as its role.
struct RankTimeline {
  int rank = 0;  // of the mesh; for a host, ranks + its number
  std::size_t role = 0;
  std::vector<Interval> operations{};  // as RoleProgram::operations
  /// What each operation waited for last: an operation of this rank (its index), or kPeer: another
  /// rank or the network, or kNothing.
  static constexpr std::uint32_t kHost = UINT32_MAX - 2;  // the host had not launched it
  static constexpr std::uint32_t kPeer = UINT32_MAX - 1;
  static constexpr std::uint32_t kNothing = UINT32_MAX;
  std::vector<std::uint32_t> bound_by{};
};

struct TrainingStepTimeline {
  std::shared_ptr<const Program> program;
  std::vector<RoleProgram> roles{};  // as Program::roles
  std::vector<RankTimeline>
      ranks{};  // those that were simulated; others do as one of the same role
  /// Per rank, then per host, where ranks that cannot differ were folded: the one of `ranks` that
  /// does the same at the same time. Empty otherwise.
  std::vector<std::uint32_t> stands_in{};
  /// Per role and operation, where hosts wait for messages: the operation whose end the host waited
  /// for last before it launched this one; kNothing: none since the start of the step. Empty, as a
  /// whole or for a role: the host waits for nothing.
  std::vector<std::vector<std::uint32_t>> launched_after{};
  TimePoint end;
  std::vector<Bytes> link_bytes{};  // per link of the network
};

}  // namespace lockstep
