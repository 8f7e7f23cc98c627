#include "sim/program/communicator.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::size_t first_host_role(const Program& program) {
  std::size_t first = 0;
  while (first < program.roles.size() && !program.roles[first].host) ++first;
  return first;
}

}  // namespace

std::size_t role_played(const Program& program, int rank) {
  if (rank < program.mesh.ranks()) return program.role_of(rank);
  return first_host_role(program) + static_cast<std::size_t>(rank - program.mesh.ranks());
}

Communicator communicator_of(const Program& program, int rank, const Communication& communication) {
  const Mesh& mesh = program.mesh;
  const bool is_host = rank >= mesh.ranks();
  Communicator out;
  const std::vector<int> all = mesh.members(is_host ? 0 : rank, communication.over);
  if (communication.participants.empty()) {
    out.members = all;
  } else {
    for (const int position : communication.participants) {
      out.members.push_back(all[static_cast<std::size_t>(position)]);
    }
  }
  out.root = communication.root;
  if (communication.host) {
    out.root = static_cast<int>(out.members.size());
    out.members.push_back(mesh.ranks() + *communication.host);
  }
  const auto own = std::find(out.members.begin(), out.members.end(), rank);
  LOCKSTEP_CHECK(own != out.members.end());
  out.own = static_cast<int>(own - out.members.begin());
  return out;
}

int hosts_of(const Program& program) {
  return static_cast<int>(std::count_if(program.roles.begin(), program.roles.end(),
                                        [](const Role& role) { return role.host; }));
}

}  // namespace lockstep
