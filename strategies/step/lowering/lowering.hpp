#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/program/communicator.hpp"
#include "sim/program/timeline.hpp"
#include "sim/schedule/workload.hpp"
#include "strategies/step/lowering/collective_choice.hpp"

namespace lockstep {

/// The message of a collective, as contracts count it.
[[nodiscard]] Bytes message_of(const RoleProgram& role, const RoleOperation& operation);

/// A message from one rank to another.
struct MessageTime {
  Duration sending;  // until the sender is done with it
  Duration latency;  // from then until the receiver has it
};

/// How long a communication takes where its ranks are not all simulated.
class CommunicationTimes {
 public:
  virtual ~CommunicationTimes() = default;
  [[nodiscard]] virtual Duration collective(int rank, const RoleProgram& role,
                                            const RoleOperation& operation) = 0;
  [[nodiscard]] virtual MessageTime message(int rank, const RoleProgram& role,
                                            const RoleOperation& operation) = 0;
};

/// Kernel times of every operation of every role.
class KernelTimes {
 public:
  /// The memory bandwidth of a host moves what it computes with: all of it for hosts that play a
  /// role, a rank's share for ranks; `link` moves what is copied to and from it. None: no time.
  struct Host {
    std::optional<Rate> memory{};
    std::optional<Rate> share{};
    std::optional<Rate> link{};
  };
  KernelTimes(const Program& program, const CostModel& cost, Host host);
  [[nodiscard]] Duration of(const RoleProgram& role, const RoleOperation& operation) const;
  /// Whether the host issues nothing more until it is done.
  [[nodiscard]] bool host_waits(const Operation& operation) const;
  /// What the host spends to issue it.
  [[nodiscard]] Duration issue(const RoleOperation& operation) const {
    return issues_[operation.call.routine][operation.index_in_routine];
  }

 private:
  const Program& program_;
  Host host_;
  bool host_waits_ = false;                   // for messages that nothing hides
  std::vector<std::vector<Duration>> times_;  // per routine and operation
  std::vector<std::vector<Duration>> issues_;
};

class FoldedTrainingStep;
class CoarseRankClasses;

/// When a host has issued an operation: at a time, or so long after the end of a message that it
/// has waited for (an operation of the same role).
struct HostLaunch {
  static constexpr std::uint32_t kStart = UINT32_MAX;
  TimePoint at;
  std::uint32_t after = kStart;
};

/// A program as the engine replays it: a stream of the workload per simulated rank and stream of
/// the program.
struct LoweredProgram {
  Workload workload;
  /// Per simulated rank (as `ranks`), per operation of its role: where it ends.
  struct Places {
    std::shared_ptr<const std::vector<ActivityRef>> operations;
    std::uint32_t first_stream = 0;  // from which these count
    [[nodiscard]] ActivityRef of(std::size_t operation) const {
      const ActivityRef place = (*operations)[operation];
      return {first_stream + place.stream, place.index};
    }
  };
  std::vector<Places> places;
  /// Per role that is simulated, likewise: when the host has issued it.
  std::vector<std::vector<HostLaunch>> issued;
};

struct LoweringInput {
  const Program& program;
  const std::vector<RoleProgram>& roles;  // as Program::roles
  std::vector<int> ranks;                 // to simulate; hosts as ranks + their number
  const KernelTimes& kernels;
  CollectiveChoice& choice;
  /// Null: all ranks take part, and messages travel on the network.
  CommunicationTimes* times = nullptr;
  std::function<EndpointId(int)> endpoint;  // of a rank or host
  double slowdown = 1;                      // of computation while communicating
  /// Kernels of these ranks take their time over the speed.
  std::map<int, double> speeds{};
  /// Where ranks are folded: `ranks` are its representatives, and end points its classes.
  FoldedTrainingStep* fold = nullptr;
  /// With `times`: `ranks` are its representatives, which stand for all of their kind.
  const CoarseRankClasses* kinds = nullptr;
};
[[nodiscard]] LoweredProgram lower_program(const LoweringInput& input);

/// What the replay of a lowered program says about each operation.
[[nodiscard]] TrainingStepTimeline timeline_of(
    std::shared_ptr<const Program> program, std::vector<RoleProgram> roles,
    const std::vector<int>& ranks, const LoweredProgram& lowered,
    const std::vector<std::vector<TimePoint>>& stream_ends);

}  // namespace lockstep
