#pragma once

#include <span>

#include "sim/execute/schedule/schedule_step_index.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// Receives the events of an execution, in order.
class ExecuteObserver {
 public:
  ExecuteObserver() = default;
  ExecuteObserver(const ExecuteObserver&) = delete;
  ExecuteObserver& operator=(const ExecuteObserver&) = delete;
  virtual ~ExecuteObserver() = default;

  /// A step starts: its dependencies are done and its sends have been read.
  virtual void begun(const ScheduleStepIndex& place, const ScheduleStep& step) = 0;
  /// A message has been received.
  virtual void taken(const ScheduleStepIndex& sender, const ScheduleStepIndex& receiver,
                     std::span<const Chunk> runs, Combine combine) = 0;
  /// A local operation, after the transfers of its step.
  virtual void worked(const ScheduleStepIndex& place, const LocalOperation& local) = 0;
  virtual void finished(const ScheduleStepIndex& place) = 0;
};

}  // namespace lockstep
