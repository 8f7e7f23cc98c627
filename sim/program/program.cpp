#include "sim/program/program.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

TensorId Program::add(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size() - 1);
}

RoutineId Program::add(Routine routine) {
  routines.push_back(std::move(routine));
  return static_cast<RoutineId>(routines.size() - 1);
}

StreamId Program::stream(std::string_view name) {
  const auto found = std::find(streams.begin(), streams.end(), name);
  if (found != streams.end()) return static_cast<StreamId>(found - streams.begin());
  LOCKSTEP_CHECK(streams.size() < 255);
  streams.emplace_back(name);
  return static_cast<StreamId>(streams.size() - 1);
}

std::size_t Program::role_of(int rank) const {
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i].host) continue;
    const bool fits = std::all_of(
        roles[i].fixed.begin(), roles[i].fixed.end(), [&](const std::pair<AtomId, int>& fixed) {
          return mesh.coordinate(rank, std::span{&fixed.first, 1}) == fixed.second;
        });
    if (fits) return i;
  }
  LOCKSTEP_CHECK(!"every rank has a role");
  return roles.size();
}

int Program::first_rank(const Role& role) const {
  int rank = 0;
  for (const auto& [atom, position] : role.fixed) {
    rank = mesh.moved(rank, std::span{&atom, 1}, position);
  }
  return rank;
}

}  // namespace lockstep
