#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/reuse/call_shape.hpp"
#include "sim/reuse/message_way.hpp"
#include "sim/reuse/tight_routes.hpp"

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

struct CallClasses {
  std::vector<std::uint32_t> of_call;  // indices into kinds
  std::vector<CallClass> kinds;
  std::vector<CallGroup> groups;
  std::map<MessageWay, std::vector<std::uint32_t>> crossed;  // groups on the links of messages
  std::shared_ptr<const TightRoutes> routes;  // of all messages; groups meet on these
  bool by_channel = false;  // routes of messages differ by tag; otherwise `crossed` is for all tags

  /// Groups on the links of a message.
  [[nodiscard]] const std::vector<std::uint32_t>& crossed_by(const MessageWay& way) const {
    return crossed.at(by_channel ? way : way.any_tag());
  }
};

/// Groups the calls of a workload, each of which must have a schedule. `only_ports`: other links
/// are unlimited. Cost: one walk per class.
[[nodiscard]] CallClasses find_call_classes(const Network& network, const Workload& workload,
                                            bool only_ports);

}  // namespace lockstep
