#pragma once

#include <cstdint>
#include <vector>

#include "sim/execute/program/exchange.hpp"

namespace lockstep {

/// Does a collective on all its tensors, one message, by the transfers of a schedule, whose first
/// ranks are the members; further ones (parameter servers) begin with nothing. The order in which
/// its ranks get to work is drawn from `seed`. tensors[i][k]: the i-th tensor of member k. Errors:
/// ExecutionError where the schedule does not end, parts do not fit or fewer ranks than members.
template <class Real>
void exchange_by(const Schedule& schedule, const Communication& how, std::uint64_t seed,
                 std::vector<std::vector<ExchangePart<Real>>>& tensors);

}  // namespace lockstep
