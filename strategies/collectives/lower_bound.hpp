#pragma once

#include <utility>

#include "strategies/collectives/collective_bound.hpp"

namespace lockstep {

/// The bound of an all-reduce.
class AllReduceBound : public CollectiveBound {
 public:
  AllReduceBound(const Network& network, std::span<const EndpointId> members,
                 std::span<const EndpointId> helpers, std::vector<Partition> partitions = {})
      : CollectiveBound(Collective::all_reduce, network, members, helpers, std::move(partitions)) {}
};

}  // namespace lockstep
