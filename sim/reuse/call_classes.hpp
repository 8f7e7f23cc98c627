#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/reuse/call_shape.hpp"

namespace lockstep {

/// Calls of one schedule with the same members and blocks.
struct CallClass {
  std::uint32_t call = 0;  // the first of them
  CallShape shape;
  std::uint32_t group = 0;
};

/// All calls of the same members.
struct CallGroup {
  /// Groups with calls that cross links of its calls; itself, if a member calls from several
  /// streams. Calls of a group without rivals have their links to themselves.
  std::vector<std::uint32_t> rivals{};
  /// Whether streams begin its calls, and calls of few other groups cross their links.
  bool is_known = false;
};

/// Messages of streams from one endpoint to another.
struct MessageWay {
  EndpointId from = 0;
  EndpointId to = 0;
  std::uint32_t tag = 0;
  auto operator<=>(const MessageWay&) const = default;
};

struct CallClasses {
  std::vector<std::uint32_t> of_call;  // indices into kinds
  std::vector<CallClass> kinds;
  std::vector<CallGroup> groups;
  std::map<MessageWay, std::vector<std::uint32_t>> crossed;  // groups on the links of messages
};

/// Groups the calls of a workload, each of which must have a schedule. Cost: one walk per class.
[[nodiscard]] CallClasses find_call_classes(const Network& network, const Workload& workload);

}  // namespace lockstep
