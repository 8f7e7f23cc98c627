#pragma once

#include <cstddef>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// The communicator of a rank's communication: its members and the rank's position.
struct Communicator {
  std::vector<int> members{};  // ranks, then a host as ranks of the mesh + host number
  int own = 0;                 // position of the rank
  int root = 0;
};
[[nodiscard]] Communicator communicator_of(const Program& program, int rank,
                                           const Communication& communication);

/// Number of hosts with a role.
[[nodiscard]] int hosts_of(const Program& program);

/// Index of the role of a rank or host.
[[nodiscard]] std::size_t role_played(const Program& program, int rank);

}  // namespace lockstep
