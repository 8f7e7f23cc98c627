#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/execute/program/allocation_record.hpp"
#include "sim/execute/program/operation_runner.hpp"
#include "sim/execute/program/role_uses.hpp"
#include "sim/program/timeline.hpp"

namespace lockstep::execution {

/// Executes the operations of all ranks at their simulated times. An operation's results are
/// allocated when it starts and get values when it ends, when unused instances are freed. At one
/// instant, ends precede starts; operations without duration are ordered by streams and
/// dependencies.
class SimulatedOrder {
 public:
  /// `own_slots`: experts have the program's slots; otherwise bytes are the program's, independent
  /// of slots. Throws ExecutionError for a timeline of another program or without all ranks.
  SimulatedOrder(ExecutionState& state, const TrainingStepTimeline& timeline,
                 OperationRunner& runner, bool own_slots);

  /// Executes one step. Throws ExecutionError, with rank, operation, time and tensor, for an
  /// operation that starts before its inputs are written or while its outputs are in use, or ends
  /// before its data from other ranks is available.
  void run();

  /// Per rank, of the last step.
  [[nodiscard]] const std::vector<AllocationLog>& allocations() const { return logs_; }

 private:
  struct Event {
    TimePoint at;
    bool starts = false;
    int rank = 0;
    std::uint32_t operation = 0;

    friend auto operator<=>(const Event&, const Event&) = default;
  };
  /// A rank's uses and allocations.
  struct Progress {
    std::vector<std::uint32_t> written{};  // per instance: completed writes
    std::vector<std::uint32_t> used{};     // per instance: completed reads and writes
    std::vector<bool> has_room{};          // per instance
  };

  void check_timeline();
  void plan_events();
  void begin_step();
  void run_starts(std::vector<Event> starts);
  [[nodiscard]] bool try_start(const Event& event);
  [[nodiscard]] bool waits_for_instant(const Event& event) const;
  void begin(const Event& event);
  [[nodiscard]] bool end(const Event& event);
  void check_reads(const Event& event) const;
  void check_writes(const Event& event) const;
  void give_room(const Event& event);
  void count_use(const Event& event, std::uint32_t instance);
  [[nodiscard]] Bytes bytes_of(const RankCursor& cursor, std::uint32_t instance,
                               std::int64_t elements) const;
  [[nodiscard]] Interval interval(int rank, std::uint32_t operation) const;
  [[nodiscard]] std::string starts_text(const Event& event) const;
  [[noreturn]] void refuse_end(const Event& event) const;

  ExecutionState& state_;
  const TrainingStepTimeline& timeline_;
  OperationRunner& runner_;
  bool own_slots_;
  std::vector<const RankTimeline*> ranks_{};  // by rank
  std::vector<RoleUses> uses_{};              // per role
  std::vector<Event> events_{};
  std::vector<Progress> progress_{};  // per rank
  std::vector<AllocationLog> logs_{};
};

}  // namespace lockstep::execution
