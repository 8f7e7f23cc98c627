#pragma once

#include <memory>

#include "sim/schedule/schedule.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// 64 MiB on each of n ranks.
[[nodiscard]] CollectiveCall all_reduce(std::shared_ptr<const Schedule> schedule);

/// The same, ranks beginning at random instants of the first 100 us.
[[nodiscard]] CollectiveCall all_reduce_apart(std::shared_ptr<const Schedule> schedule);

/// Every rank sends to every other at once; a message is 64 MiB / (n - 1), times a random factor
/// between 0.5 and 1.5.
[[nodiscard]] CollectiveCall all_to_all(int n);

}  // namespace lockstep
