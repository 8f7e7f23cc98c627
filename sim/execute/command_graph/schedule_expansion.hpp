#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/schedule/block_memory.hpp"
#include "sim/execute/schedule/execute_observer.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Location of a schedule's ranks on devices.
struct SchedulePlaces {
  std::int64_t block = 0;  // elements per block
  NumberType type = NumberType::fp32;
  Reduction reduction = Reduction::sum;
  std::function<BufferId(int rank, Buffer which)> buffer{};
  std::function<StreamIndex(int rank, int lane)> stream{};
};

/// Translates a schedule's steps into a command graph while the host executor runs them without
/// data. A message is one copy or addition in the stream of the receiving lane, directly from the
/// sender's buffer if it cannot be overwritten before, else from a copy made when the sender's step
/// starts. Between devices it is first copied to the destination device. With rendezvous (slots 0)
/// a lane continues when all it sent has been received.
class ScheduleExpansion final : public BlockMemory, public ExecuteObserver {
 public:
  /// All arguments must outlive this object.
  ScheduleExpansion(CommandGraphBuilder& graph, const Schedule& schedule, SchedulePlaces places);

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override;
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override;
  void begun(const ScheduleStepIndex& place, const ScheduleStep& step) override;
  void taken(const ScheduleStepIndex& sender, const ScheduleStepIndex& receiver,
             std::span<const Chunk> runs, Combine combine) override;
  void worked(const ScheduleStepIndex& place, const LocalOperation& local) override;
  void finished(const ScheduleStepIndex& place) override;

 private:
  using Runs = std::vector<Region>;
  /// Buffers for a lane's messages in flight.
  struct Room {
    BufferId buffer = 0;
    std::int64_t elements = 0;
    int readers = 0;                    // messages still to be received from it
    std::vector<CommandId> taken_by{};  // commands that received one
  };
  struct Message {
    ScheduleStepIndex sender{};
    bool local = false;
    Runs from{};
    std::vector<CommandId> ready{};  // must complete before it is read
    Room* room = nullptr;
  };
  struct Lane {
    std::vector<CommandId> open{};  // commands of other lanes that end the lane's step
    std::vector<std::unique_ptr<Room>> rooms{};
    std::vector<std::unique_ptr<Room>> landings{};
  };

  [[nodiscard]] std::size_t index(const ScheduleStepIndex& place) const;
  [[nodiscard]] StreamIndex stream(const ScheduleStepIndex& place) const {
    return places_.stream(place.rank, place.lane);
  }
  [[nodiscard]] Runs regions(int rank, std::span<const Chunk> runs) const;
  [[nodiscard]] bool may_change(const ScheduleStepIndex& place, std::span<const Chunk> runs) const;
  void note_writers();
  void note_writes(int rank, int lane, const ScheduleStep& step);
  void stage(Message& message);
  [[nodiscard]] Room& room_in(std::vector<std::unique_ptr<Room>>& rooms,
                              const ScheduleStepIndex& place, std::int64_t elements,
                              const char* what);
  void move(const ScheduleStepIndex& place, const Message& message, const Runs& to,
            Combine combine);
  void move_far(const ScheduleStepIndex& place, const Message& message, Region to, Region from,
                Combine combine);
  void settle(const ScheduleStepIndex& place);

  CommandGraphBuilder& graph_;
  const Schedule& schedule_;
  SchedulePlaces places_;
  bool rendezvous_;
  std::vector<Lane> lanes_{};
  /// Per block of every rank's buffers: the lane that writes it; kNobody or kSeveral.
  std::vector<std::vector<int>> writers_{};
  std::map<std::tuple<int, int, std::int64_t>, std::vector<CommandId>>
      ended_{};  // steps that others wait for
  ScheduleStepIndex posting_{};
  std::vector<Chunk> posted_writes_{};  // of the step being posted
  std::vector<int> sends_of_read_{};    // messages that share each read of it
  std::size_t reads_ = 0;
  CommandId moved_ = kNoCommand;  // last command of the current message
  Message* taking_ = nullptr;
};

}  // namespace lockstep
