#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/execute/program/allocation_record.hpp"
#include "sim/execute/program/operation_runner.hpp"
#include "sim/execute/program/role_uses.hpp"
#include "sim/program/timeline.hpp"

namespace lockstep::execution {

/// Runs the operations of all ranks when a timeline says so. An operation's results get room when
/// it begins and their values when it ends; what nobody uses any more is freed there. What ends at
/// an instant does so before anything begins there; operations that take no time come one after the
/// other, as streams and dependencies say.
class SimulatedOrder {
 public:
  /// `own_slots`: experts have room for as many tokens as the program says; else their bytes are
  /// those of the program, whatever the execution has room for. Errors: ExecutionError for a
  /// timeline of another program, or without all ranks.
  SimulatedOrder(ExecutionState& state, const TrainingStepTimeline& timeline,
                 OperationRunner& runner, bool own_slots);

  /// One step. Errors: ExecutionError for an operation that begins before what it reads is written,
  /// or while others use what it writes, or ends before others have begun what it gets from them;
  /// with rank, operation, time and tensor.
  void run();

  /// Of the last step, per rank.
  [[nodiscard]] const std::vector<AllocationLog>& allocations() const { return logs_; }

 private:
  struct Event {
    TimePoint at;
    bool starts = false;
    int rank = 0;
    std::uint32_t operation = 0;

    friend auto operator<=>(const Event&, const Event&) = default;
  };
  /// What a rank has used, and what it holds.
  struct Progress {
    std::vector<std::uint32_t> written{};  // per instance: writes that have ended
    std::vector<std::uint32_t> used{};     // likewise: reads and writes
    std::vector<bool> has_room{};          // likewise
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
  [[nodiscard]] const Interval& interval(int rank, std::uint32_t operation) const;
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
