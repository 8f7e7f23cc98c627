#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/schedule/workload.hpp"

namespace lockstep {

/// The order of a workload's calls. An endpoint serves simultaneous calls in this order. To be
/// independent of rank numbers, calls are ordered by when the first role among their members issues
/// them.
class CallOrder {
 public:
  /// Records that operation `operation` of a role issues a call. New calls come in order of their
  /// numbers.
  void note(std::uint32_t call, std::size_t role, std::size_t operation);
  /// Sorts the calls; returns the new index of each.
  [[nodiscard]] std::vector<std::uint32_t> apply(std::vector<CollectiveCall>& calls) const;

 private:
  std::vector<std::pair<std::size_t, std::size_t>> first_;  // per call: role, operation
};

}  // namespace lockstep
