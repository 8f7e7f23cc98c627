#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/kernels/lower_operation.hpp"
#include "sim/execute/program/exchange.hpp"
#include "sim/execute/program/execution_options.hpp"
#include "sim/execute/program/operation_runner.hpp"

namespace lockstep::execution {

/// Inputs for a step's command graph, apart from the program.
template <class Real>
struct TrainingStepInputs {
  /// Layout of an operand on the rank of an operation.
  std::function<const PartLayout&(const RankCursor&, std::uint32_t operation,
                                  std::uint32_t instance)>
      layout{};
  std::function<const PartLayout&(TensorId, int rank)> layout_of{};
  std::function<KernelSettings(const RankCursor&, std::uint32_t operation)> settings{};
  std::function<bool(const Operation&, const Tensor& written)> adds{};
  /// Element type of a tensor on the device.
  std::function<NumberType(const Tensor&)> type{};
  ScheduleOf schedule_of{};
  int devices = 1;
};

/// Builds the command graph of all ranks of a step, in call order, which must be a valid sequential
/// order: one stream per rank and program stream, plus one per additional lane of a schedule;
/// events for the program's dependencies (RoleOperation::after) and for data passed between
/// streams.
template <class Real>
class TrainingStepCommands final : public OperationRunner {
 public:
  TrainingStepCommands(ExecutionState& state, TrainingStepInputs<Real> needs);

  void begin(RankCursor& cursor, std::uint32_t operation) override;
  [[nodiscard]] bool end(RankCursor& cursor, std::uint32_t operation) override;
  [[nodiscard]] std::int64_t allocate(RankCursor& cursor, std::uint32_t instance) override;
  [[nodiscard]] std::int64_t elements(const RankCursor& cursor,
                                      std::uint32_t instance) const override;
  void release(RankCursor&, std::uint32_t) override {}

  /// Starts a step; `written`: which instances already have values.
  void begin_step(const std::function<bool(int rank, std::uint32_t instance)>& written);
  [[nodiscard]] CommandGraph take() { return builder_->take(); }
  [[nodiscard]] BufferId buffer(int rank, std::uint32_t instance) const {
    return held_[static_cast<std::size_t>(rank)][instance].buffer;
  }
  [[nodiscard]] bool written(int rank, std::uint32_t instance) const {
    return held_[static_cast<std::size_t>(rank)][instance].written;
  }
  [[nodiscard]] std::uint32_t writer(int rank, std::uint32_t instance) const {
    return held_[static_cast<std::size_t>(rank)][instance].writer;
  }

 private:
  /// A buffer and its last users.
  struct Held {
    BufferId buffer = 0;
    bool written = false;
    std::uint32_t writer = kNoOperation;
  };
  struct Use {
    CommandId writer = kNoCommand;
    std::vector<CommandId> readers{};
  };
  /// A sent message.
  struct Sent {
    BufferId buffer = 0;
    std::int64_t count = 0;
    StreamIndex stream = 0;
    CommandId ready = kNoCommand;
  };
  struct Part {  // one member's part of one tensor in a collective
    const PartLayout* layout = nullptr;
    BufferId buffer = 0;
  };
  class Collective;

  [[nodiscard]] int device_of(int rank) const;
  [[nodiscard]] StreamIndex stream_of(const RankCursor& cursor, std::uint32_t operation) const;
  [[nodiscard]] StreamIndex lane_stream(int rank, StreamIndex own, int lane);
  [[nodiscard]] Held& held(int rank, std::uint32_t instance) {
    return held_[static_cast<std::size_t>(rank)][instance];
  }
  [[nodiscard]] Region whole(BufferId buffer) const;
  [[nodiscard]] BufferId spare(int rank, StreamIndex stream, std::size_t which,
                               std::int64_t elements, NumberType type);
  [[nodiscard]] BufferId read(const RankCursor& cursor, std::uint32_t operation,
                              std::uint32_t instance);
  [[nodiscard]] bool store(const RankCursor& cursor, std::uint32_t operation,
                           std::uint32_t instance, bool add);

  void promise(const RankCursor& cursor, std::uint32_t operation);
  CommandId launch(StreamIndex stream, const KernelLaunch& kernel, std::vector<Region> reads,
                   std::vector<Region> writes);
  CommandId copy(StreamIndex stream, Region to, Region from, StreamIndex from_stream);
  void wait_for_uses(StreamIndex stream, const std::vector<Region>& reads,
                     const std::vector<Region>& writes);
  void note_uses(CommandId command, const std::vector<Region>& reads,
                 const std::vector<Region>& writes);
  [[nodiscard]] Use& use(BufferId buffer);

  void compute(const RankCursor& cursor, std::uint32_t operation);
  void send(const RankCursor& cursor, std::uint32_t operation);
  [[nodiscard]] bool receive(const RankCursor& cursor, std::uint32_t operation);
  void meet(CollectiveInstance& collective_instance);

  ExecutionState& state_;
  TrainingStepInputs<Real> needs_;
  std::unique_ptr<CommandGraphBuilder> builder_{};
  std::vector<std::vector<Held>> held_{};        // per rank and instance
  std::vector<std::vector<StreamIndex>> own_{};  // per rank and stream of the program
  std::map<std::pair<StreamIndex, int>, StreamIndex> lanes_{};
  std::map<std::tuple<int, StreamIndex, std::size_t, std::int64_t, NumberType>, BufferId> spares_{};
  std::vector<Use> uses_{};  // per buffer
  std::map<const CollectiveInstance*, bool> met_{};
  std::vector<CommandId> ended_{};                                // scratch
  std::map<std::pair<int, std::uint32_t>, CommandId> last_of_{};  // per rank and operation
};

}  // namespace lockstep::execution
