#include "strategies/interop/goal/goal.hpp"

#include "strategies/interop/goal/goal_checks.hpp"
#include "strategies/interop/goal/goal_parser.hpp"
#include "strategies/interop/text/read_file.hpp"

namespace lockstep {

GoalSchedule parse_goal(std::string_view text, std::string file) {
  Problems problems{std::move(file)};
  GoalSchedule schedule = GoalParser(text, problems).parse();
  problems.throw_if_any();  // what was skipped would be missed below
  check_goal_cycles(schedule, problems);
  check_goal_messages(schedule, problems);
  problems.throw_if_any();
  return schedule;
}

GoalSchedule read_goal(const std::filesystem::path& path) {
  return parse_goal(read_file(path, "a GOAL file", kLargestGoal), path.string());
}

}  // namespace lockstep
