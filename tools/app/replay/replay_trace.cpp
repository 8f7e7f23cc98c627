#include "tools/app/replay/replay_trace.hpp"

#include <filesystem>

#include "strategies/interop/goal/goal_workload.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

namespace fs = std::filesystem;

bool is_chakra(const fs::path& path) {
  std::error_code ignored;
  const fs::path ending = path.extension();
  if (ending == ".et" || ending == ".json" || fs::is_directory(path, ignored)) return true;
  return !fs::exists(path, ignored) && ending != ".goal";
}

}  // namespace

int ReplayTrace::ranks() const {
  if (const auto* goal = std::get_if<GoalSchedule>(&form)) return goal->ranks;
  return static_cast<int>(std::get<ChakraTrace>(form).ranks.size());
}

std::string ReplayTrace::form_name() const {
  return std::holds_alternative<GoalSchedule>(form) ? "GOAL" : "Chakra";
}

std::vector<std::string> ReplayTrace::notes() const {
  const auto* chakra = std::get_if<ChakraTrace>(&form);
  return chakra == nullptr ? std::vector<std::string>{} : chakra->notes;
}

Workload ReplayTrace::workload(std::span<const EndpointId> members,
                               const ChooseSchedule& choose) const {
  if (const auto* goal = std::get_if<GoalSchedule>(&form)) return to_workload(*goal, members);
  return to_workload(std::get<ChakraTrace>(form), members, choose);
}

ReplayTrace load_trace(const std::string& path) {
  if (fs::path{path}.extension() == ".xml")
    throw RequestError("\"" + path +
                       "\" ends in .xml: MSCCL schedules are played by `lockstep collective "
                       "--schedule FILE`");
  if (is_chakra(path)) return {read_chakra(path)};
  return {read_goal(path)};
}

}  // namespace lockstep::app
