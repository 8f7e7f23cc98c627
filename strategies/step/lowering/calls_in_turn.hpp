#pragma once

#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

// Two calls that take turns may stand for all uses of a collective by one group if its members play
// one role and what follows holds: then none ends a use before all have begun it.

/// Everyone's result contains data of all members, which are GPUs.
[[nodiscard]] bool among_all(const Communication& how);
/// Without slots and copies, so that calls in flight at once do not delay each other at an
/// endpoint.
[[nodiscard]] bool is_plain(const Schedule& schedule);

}  // namespace lockstep
