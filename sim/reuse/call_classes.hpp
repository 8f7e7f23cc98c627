#pragma once

#include <cstdint>
#include <vector>

#include "sim/reuse/call_shape.hpp"

namespace lockstep {

/// Calls of one schedule with the same members and blocks.
struct CallClass {
  std::uint32_t call = 0;  // the first of them
  CallShape shape;
  /// Only calls of the same members cross its links, and each member calls them from one stream,
  /// one after the other.
  bool secluded = false;
};

struct CallClasses {
  std::vector<std::uint32_t> of_call;  // indices into kinds
  std::vector<CallClass> kinds;
};

/// Groups the calls of a workload, each of which must have a schedule. Cost: one walk per class.
[[nodiscard]] CallClasses find_call_classes(const Network& network, const Workload& workload);

}  // namespace lockstep
