#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/reuse/call_shape.hpp"

namespace lockstep {

/// Calls of one schedule with the same members and blocks.
struct CallClass {
  std::uint32_t call = 0;  // the first of them
  CallShape shape;
  /// Nothing but calls of the same members crosses its links, and each member calls those from one
  /// stream, hence one after the other.
  bool secluded = false;
};

struct CallClasses {
  std::vector<std::uint32_t> of_call;  // indices into kinds
  std::vector<CallClass> kinds;
};

/// Sorts the calls of a workload, each of which must have a schedule. Takes as long as it takes to
/// write down one call of each kind.
[[nodiscard]] CallClasses find_call_classes(const Network& network, const Workload& workload);

}  // namespace lockstep
