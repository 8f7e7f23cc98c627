#include "strategies/interop/goal/goal_messages.hpp"

namespace lockstep {

GoalMessages::GoalMessages(const GoalSchedule& schedule) {
  for (const GoalRank& program : schedule.programs) {
    for (const GoalOperation& operation : program.operations) {
      if (operation.kind == GoalOperation::Kind::calc) continue;
      const bool sending = operation.kind == GoalOperation::Kind::send;
      ends_.push_back({sending ? program.rank : operation.peer,
                       sending ? operation.peer : program.rank, operation.tag, operation.size,
                       sending});
      operations_.push_back(&operation);
    }
  }
  tags_ = plan_tags(ends_);
}

}  // namespace lockstep
