#include "strategies/interop/goal/goal_workload.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/base/check.hpp"
#include "strategies/interop/goal/goal_messages.hpp"

namespace lockstep {

namespace {

class Converter {
 public:
  Converter(const GoalSchedule& schedule, std::span<const EndpointId> members)
      : schedule_{schedule}, members_{members}, messages_{schedule} {}

  Workload convert() {
    LOCKSTEP_CHECK(members_.size() == static_cast<std::size_t>(schedule_.ranks));
    workload_.slots = Workload::kNoLimit;
    for (const GoalRank& program : schedule_.programs) add_program(program);
    return std::move(workload_);
  }

 private:
  void add_program(const GoalRank& program) {
    first_ = static_cast<std::uint32_t>(workload_.streams.size());
    has_start_.assign(program.operations.size(), false);
    for (const GoalOperation& given : program.operations)
      for (const std::uint32_t started : given.after_start) has_start_[started] = true;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const GoalOperation& given = program.operations[i];
      workload_.streams.push_back({member(program.rank), stream_name(given), {}});
      std::vector<Activity>& operations = workload_.streams.back().operations;
      if (has_start_[i]) operations.emplace_back();
      operations.push_back(given.kind == GoalOperation::Kind::calc ? calculation(given)
                                                                   : message(given));
      operations.front().after = dependencies(given);
    }
  }

  [[nodiscard]] std::vector<ActivityRef> dependencies(const GoalOperation& given) const {
    std::vector<ActivityRef> out;
    for (const std::uint32_t done : given.after)
      out.push_back({first_ + done, has_start_[done] ? 1U : 0U});
    for (const std::uint32_t started : given.after_start) out.push_back({first_ + started, 0});
    return out;
  }

  static std::string stream_name(const GoalOperation& given) {
    return given.label.empty() ? fmt::format("line {}", given.at.line) : given.label;
  }

  static Activity calculation(const GoalOperation& given) {
    Activity out;
    out.kind = Activity::Kind::compute;
    out.duration = given.duration;
    out.processor = given.cpu;
    return out;
  }

  /// Messages come in the order in which GoalMessages counts them.
  Activity message(const GoalOperation& given) {
    Activity out;
    out.kind =
        given.kind == GoalOperation::Kind::send ? Activity::Kind::send : Activity::Kind::receive;
    out.peer = member(given.peer);
    out.tag = messages_.tags().tags[next_message_++];
    out.size = given.size;
    return out;
  }

  [[nodiscard]] EndpointId member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }

  const GoalSchedule& schedule_;
  std::span<const EndpointId> members_;
  GoalMessages messages_;
  std::size_t next_message_ = 0;
  std::uint32_t first_ = 0;      // stream of the program's first operation
  std::vector<bool> has_start_;  // per operation of the program
  Workload workload_;
};

}  // namespace

Workload to_workload(const GoalSchedule& schedule, std::span<const EndpointId> members) {
  return Converter(schedule, members).convert();
}

}  // namespace lockstep
