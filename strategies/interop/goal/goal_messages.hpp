#pragma once

#include <vector>

#include "strategies/interop/goal/goal.hpp"
#include "strategies/interop/text/message_tags.hpp"

namespace lockstep {

/// The sends and receives of a schedule, in order of rank and operation, with tags that the engine
/// can match. The schedule must outlive this object.
class GoalMessages {
 public:
  explicit GoalMessages(const GoalSchedule& schedule);

  [[nodiscard]] const MessageTags& tags() const { return tags_; }
  [[nodiscard]] const MessageEnd& end(std::size_t i) const { return ends_[i]; }
  [[nodiscard]] const GoalOperation& operation(std::size_t i) const { return *operations_[i]; }

 private:
  std::vector<MessageEnd> ends_;
  std::vector<const GoalOperation*> operations_;
  MessageTags tags_;
};

}  // namespace lockstep
