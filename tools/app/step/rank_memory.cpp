#include "tools/app/step/rank_memory.hpp"

#include <algorithm>
#include <set>

namespace lockstep::app {

namespace {

constexpr std::size_t kShown = 8;  // tensors at the peak

/// The operations of a role, a picosecond each.
RankTimeline in_order(const Program& program, const RoleProgram& role) {
  RankTimeline timeline;
  timeline.role = role.role;
  timeline.rank = program.first_rank(program.roles[role.role]);
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const auto at = TimePoint{Duration::picoseconds(static_cast<std::int64_t>(i))};
    timeline.operations.push_back({at, at + Duration::picoseconds(1)});
  }
  timeline.bound_by.resize(role.operations.size(), RankTimeline::kNothing);
  return timeline;
}

void put_in_words(const RoleProgram& role, RankMemory& memory) {
  const MemoryPeak& peak = memory.account.device.peak;
  for (const HeldTensor& held : peak.tensors) {
    if (memory.largest.size() == kShown) break;
    memory.largest.push_back(to_string(held, *role.program));
    memory.largest_bytes.push_back(held.bytes);
  }
  if (peak.operation) memory.during = role.name(*peak.operation);
}

}  // namespace

RankMemory worst_memory(const StepTimeline& timeline, std::optional<Bytes> capacity) {
  RankMemory worst;
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : timeline.ranks) {
    const Role& role = timeline.program->roles[rank.role];
    if (role.host || !seen.insert(rank.role).second) continue;
    MemoryAccount account = memory_account(timeline.roles[rank.role], rank);
    const bool first = seen.size() == 1;
    if (!first && account.device.peak.held.total() <= worst.needed()) continue;
    worst = {};
    worst.rank = rank.rank;
    worst.role = role.name;
    worst.account = std::move(account);
    worst.model_states = model_state_bytes(resident_bytes(timeline.roles[rank.role]));
    worst.capacity = capacity;
    put_in_words(timeline.roles[rank.role], worst);
  }
  return worst;
}

Bytes most_reserved(const StepTimeline& timeline, std::optional<Bytes> capacity) {
  Bytes most;
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : timeline.ranks) {
    if (timeline.program->roles[rank.role].host || !seen.insert(rank.role).second) continue;
    most = std::max(most, reserved_bytes(timeline.roles[rank.role], rank, capacity));
  }
  return most;
}

Bytes peak_in_order(const Program& program) {
  Bytes most;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    if (program.roles[i].host) continue;
    const RoleProgram role = unroll(program, i);
    most = std::max(most, memory_account(role, in_order(program, role)).device.peak.held.total());
  }
  return most;
}

}  // namespace lockstep::app
