#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "strategies/interop/chakra/chakra.hpp"
#include "strategies/interop/chakra/chakra_workload.hpp"
#include "strategies/interop/goal/goal.hpp"

namespace lockstep::app {

/// What somebody else's program did, in one of the forms that can be replayed.
struct ReplayTrace {
  std::variant<GoalSchedule, ChakraTrace> form;

  [[nodiscard]] int ranks() const;
  /// "GOAL" or "Chakra".
  [[nodiscard]] std::string form_name() const;
  /// What of the files is ignored.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// `members[r]` plays rank r; `choose` is asked for the schedules of collectives.
  [[nodiscard]] Workload workload(std::span<const EndpointId> members,
                                  const ChooseSchedule& choose) const;
};

/// A folder, a file that ends in .et or .json, or a name that is no file is a set of Chakra traces;
/// any other file is GOAL. Throws ConfigError for what the files have wrong, RequestError for files
/// that another command takes.
[[nodiscard]] ReplayTrace load_trace(const std::string& path);

}  // namespace lockstep::app
