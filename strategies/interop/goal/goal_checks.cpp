#include "strategies/interop/goal/goal_checks.hpp"

#include <fmt/format.h>

#include "strategies/interop/goal/goal_messages.hpp"
#include "strategies/interop/text/dependency_cycle.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kMostNamed = 8;  // operations of a circle in one message

std::vector<std::vector<std::uint32_t>> dependencies_of(const GoalRank& program) {
  std::vector<std::vector<std::uint32_t>> out;
  for (const GoalOperation& operation : program.operations) {
    out.push_back(operation.after);
    out.back().insert(out.back().end(), operation.after_start.begin(), operation.after_start.end());
  }
  return out;
}

/// `"a" waits for "b", "b" waits for "a"`.
std::string circle_in_words(const GoalRank& program, const std::vector<std::uint32_t>& cycle) {
  std::string out = name_of(program.operations[cycle.front()]);
  if (cycle.size() == 1) return out + " waits for itself";
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    if (i == kMostNamed) {
      out += fmt::format(", and on through {} more", cycle.size() - i);
      break;
    }
    out += (i == 1 ? " waits for " : ", that for ") + name_of(program.operations[cycle[i]]);
  }
  return out + ", and that for the first again";
}

}  // namespace

std::string name_of(const GoalOperation& operation) {
  if (!operation.label.empty()) return in_quotes(operation.label);
  constexpr std::string_view kNouns[] = {"send", "recv", "calc"};
  return fmt::format("the {} in line {}", kNouns[static_cast<std::size_t>(operation.kind)],
                     operation.at.line);
}

void check_goal_cycles(const GoalSchedule& schedule, Problems& problems) {
  for (const GoalRank& program : schedule.programs) {
    const std::vector<std::uint32_t> cycle = find_cycle(dependencies_of(program));
    if (cycle.empty()) continue;
    problems.note(
        program.operations[cycle.front()].at, "",
        fmt::format("deadlock on rank {}: {}", program.rank, circle_in_words(program, cycle)));
  }
}

void check_goal_messages(const GoalSchedule& schedule, Problems& problems) {
  const GoalMessages messages(schedule);
  for (const MessageTags::Conflict& conflict : messages.tags().conflicts) {
    const GoalOperation& send = messages.operation(conflict.send);
    const GoalOperation& receive = messages.operation(conflict.receive);
    const MessageEnd& end = messages.end(conflict.send);
    problems.note(
        send.at, "",
        fmt::format("rank {} sends {} bytes to rank {} on tag {}, which receives {} (line {})",
                    end.from, send.size.count(), end.to, end.tag, receive.size.count(),
                    receive.at.line));
  }
}

}  // namespace lockstep
