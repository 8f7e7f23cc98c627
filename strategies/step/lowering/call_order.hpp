#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/schedule/workload.hpp"

namespace lockstep {

/// The order of a workload's calls. What an end point does for several calls at one instant goes in
/// the order of the calls: so that it does not depend on the numbers of the ranks, they stand in
/// the order in which the first role of their members issues them.
class CallOrder {
 public:
  /// A role issues a call, as that operation of its own. New calls come in order of their numbers.
  void note(std::uint32_t call, std::size_t role, std::size_t operation);
  /// Puts the calls in order; returns the place of each.
  [[nodiscard]] std::vector<std::uint32_t> apply(std::vector<CollectiveCall>& calls) const;

 private:
  std::vector<std::pair<std::size_t, std::size_t>> first_;  // per call: role, operation
};

}  // namespace lockstep
