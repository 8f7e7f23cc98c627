#pragma once

#include <cstddef>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep {

/// The communicator of one communication of one rank: who plays which part.
struct Communicator {
  std::vector<int> members{};  // ranks; a host: ranks of the mesh + its number, last
  int own = 0;                 // position of the rank
  int root = 0;
};
[[nodiscard]] Communicator communicator_of(const Program& program, int rank,
                                           const Communication& communication);

/// How many hosts play a role.
[[nodiscard]] int hosts_of(const Program& program);

/// Index of the role that a rank, or a host, plays.
[[nodiscard]] std::size_t role_played(const Program& program, int rank);

}  // namespace lockstep
