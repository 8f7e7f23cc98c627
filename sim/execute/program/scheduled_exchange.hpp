#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/program/exchange.hpp"

namespace lockstep {

/// Executes a collective on all its tensors as a single message by the transfers of a schedule,
/// whose first ranks are the members; auxiliary ranks start empty. The execution order is drawn
/// from `seed`. tensors[i][k]: tensor i of member k. Throws ExecutionError for a deadlock,
/// inconsistent parts or fewer ranks than members.
template <class Real>
void exchange_by(const Schedule& schedule, const Communication& how, std::uint64_t seed,
                 std::vector<std::vector<ExchangePart<Real>>>& tensors);

}  // namespace lockstep
