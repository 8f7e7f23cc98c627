#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/program/communicator.hpp"
#include "sim/program/timeline.hpp"
#include "sim/schedule/stream_ends.hpp"
#include "sim/schedule/workload.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/lowering/costs/kernel_times.hpp"
#include "strategies/step/lowering/costs/rank_speed.hpp"

namespace lockstep {

/// Message size of a collective by its contract.
[[nodiscard]] Bytes message_of(const RoleProgram& role, const RoleOperation& operation);

/// Time of a collective, and whether copy engines execute it.
struct TimedCollective {
  Duration time;
  bool on_copy_engines = false;
};

/// Time of a message between two ranks.
struct MessageTime {
  Duration sending;  // until the sender is free
  Duration latency;  // from then until the receiver has the message
};

/// Source of communication times if not all ranks of a communication are simulated.
class CommunicationTimes {
 public:
  virtual ~CommunicationTimes() = default;
  [[nodiscard]] virtual TimedCollective collective(int rank, const RoleProgram& role,
                                                   const RoleOperation& operation) = 0;
  [[nodiscard]] virtual MessageTime message(int rank, const RoleProgram& role,
                                            const RoleOperation& operation) = 0;
};

class FoldedTrainingStep;
class CoarseRankClasses;

/// A program as the engine's workload: one stream per simulated rank and program stream.
struct LoweredProgram {
  Workload workload;
  /// Per simulated rank (as `ranks`) and operation of its role: the activity that ends it.
  struct Places {
    std::shared_ptr<const std::vector<ActivityRef>> operations;
    std::uint32_t first_stream = 0;  // offset of the stream indices
    [[nodiscard]] ActivityRef of(std::size_t operation) const {
      const ActivityRef place = (*operations)[operation];
      return {first_stream + place.stream, place.index};
    }
  };
  std::vector<Places> places;
  /// Launch times per simulated role and operation.
  std::vector<std::vector<HostLaunch>> issued;
};

struct LoweringInput {
  const Program& program;
  const std::vector<RoleProgram>& roles;  // as Program::roles
  std::vector<int> ranks;                 // to simulate; hosts as ranks + host number
  const KernelTimes& kernels;
  CollectiveChoice& choice;
  /// Null: all ranks take part, and messages travel on the network.
  CommunicationTimes* times = nullptr;
  std::function<EndpointId(int)> endpoint;  // of a rank or host
  double slowdown = 1;                      // factor on computation while communicating
  RankSpeeds speeds{};
  /// If folded: `ranks` are its representatives and endpoints its classes.
  FoldedTrainingStep* fold = nullptr;
  /// With `times`: `ranks` are its representatives.
  const CoarseRankClasses* kinds = nullptr;
  std::function<void(double share)> on_progress{};  // called after every rank
  /// Calls of a group that repeat each other, and copy nothing, may be two that take turns: if
  /// their order is free.
  bool calls_in_turn = false;
};
[[nodiscard]] LoweredProgram lower_program(const LoweringInput& input);

/// Whether it does not matter in which order endpoints serve simultaneous calls that copy nothing:
/// software and reductions take no time, and no message waits for others in a queue.
[[nodiscard]] bool order_of_calls_is_free(const Network& network, NetworkModel model);

/// Times of the operations of one rank, from the replay of a lowered program. `places` and `waits`
/// are those of the rank and its role.
[[nodiscard]] RankTimeline rank_timeline(const RoleProgram& role, int rank,
                                         const LoweredProgram::Places& places,
                                         std::shared_ptr<const OperationWaits> waits,
                                         const StreamEnds& stream_ends);

/// The timeline of every operation from the replay of a lowered program. Ranks of a role that
/// follow one another and end at the same times share them.
[[nodiscard]] TrainingStepTimeline timeline_of(std::shared_ptr<const Program> program,
                                               RolePrograms roles, const std::vector<int>& ranks,
                                               const LoweredProgram& lowered,
                                               const StreamEnds& stream_ends);

}  // namespace lockstep
