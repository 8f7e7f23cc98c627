#pragma once

#include <span>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Is notified of what happens while a schedule is executed, in order.
class ExecuteObserver {
 public:
  ExecuteObserver() = default;
  ExecuteObserver(const ExecuteObserver&) = delete;
  ExecuteObserver& operator=(const ExecuteObserver&) = delete;
  virtual ~ExecuteObserver() = default;

  /// A step begins: what it waits for is done, what it sends is read.
  virtual void begun(const ScheduleStepIndex& place, const ScheduleStep& step) = 0;
  /// What one step sent is written by another.
  virtual void taken(const ScheduleStepIndex& sender, const ScheduleStepIndex& receiver,
                     std::span<const Chunk> runs, Combine combine) = 0;
  /// One of a step's local operations, which come in order when its transfers are over.
  virtual void worked(const ScheduleStepIndex& place, const LocalOperation& local) = 0;
  virtual void finished(const ScheduleStepIndex& place) = 0;
};

}  // namespace lockstep
