#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"
#include "strategies/interop/chakra/chakra_workload.hpp"
#include "strategies/interop/goal/goal.hpp"

namespace lockstep::app {

/// A trace of another program, in one of the supported formats.
struct ReplayTrace {
  std::variant<GoalSchedule, ChakraTrace> form;

  [[nodiscard]] int ranks() const;
  /// "GOAL" or "Chakra".
  [[nodiscard]] std::string form_name() const;
  /// What is ignored in the files.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// `members[r]` executes rank r; `choose` provides schedules of collectives.
  [[nodiscard]] Workload workload(std::span<const EndpointId> members,
                                  const ChooseSchedule& choose) const;
};

/// A folder, a file ending in .et or .json, or the name of no file is a set of Chakra traces; any
/// other file is GOAL. Throws ConfigError for invalid files, RequestError for files of another
/// command.
[[nodiscard]] ReplayTrace load_trace(const std::string& path);

}  // namespace lockstep::app
