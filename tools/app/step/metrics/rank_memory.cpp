#include "tools/app/step/metrics/rank_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/check.hpp"
#include "sim/trace/memory/peak_memory.hpp"
#include "strategies/step/repeating_parts.hpp"

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
  return timeline;
}

void add_peak(const RoleProgram& role, RankMemory& memory) {
  const MemoryPeak& peak = memory.account.device.peak;
  for (const HeldTensor& held : peak.tensors) {
    if (memory.largest.size() == kShown) break;
    memory.largest.push_back({role.program->tensors[held.tensor].name, held});
  }
  if (!peak.operation) return;
  const RoleOperation& of = role.operations[*peak.operation];
  memory.during = PeakOperation{of.operation->name, of.call.position, of.call.microbatch};
}

RankMemory memory_of(const RoleProgram& role, const RankTimeline& rank,
                     std::optional<Bytes> capacity) {
  RankMemory out;
  out.rank = rank.rank;
  out.role = role.program->roles[role.role].name;
  out.account = memory_account(role, rank);
  out.model_states = model_state_bytes(resident_bytes(role));
  out.capacity = capacity;
  add_peak(role, out);
  return out;
}

/// The first of each role of ranks.
std::vector<const RankTimeline*> first_of_roles(const TrainingStepTimeline& timeline) {
  std::vector<const RankTimeline*> out;
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : timeline.ranks)
    if (!timeline.program->roles[rank.role].host && seen.insert(rank.role).second)
      out.push_back(&rank);
  return out;
}

bool is_host(const RoleProgram& role) {
  return role.program->roles[role.role].host;
}

}  // namespace

std::string rank_text(int rank, const std::string& role) {
  return role == "rank" ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, role);
}

std::string to_string(MemoryFit fit) {
  if (fit == MemoryFit::fits) return "fits";
  return fit == MemoryFit::tight ? "tight" : "does not fit";
}

MemoryFit RankMemory::fit() const {
  if (!fits()) return MemoryFit::does_not_fit;
  const bool clear = !capacity || static_cast<double>(needed().count()) * (1 + margin) <=
                                      static_cast<double>(capacity->count());
  return clear ? MemoryFit::fits : MemoryFit::tight;
}

RankMemory worst_memory(const TrainingStepTimeline& timeline, std::optional<Bytes> capacity) {
  const RankTimeline* worst = nullptr;
  Bytes most;
  for (const RankTimeline* rank : first_of_roles(timeline)) {
    const Bytes peak = peak_memory(timeline.roles[rank->role], *rank);
    if (worst != nullptr && peak <= most) continue;
    worst = rank;
    most = peak;
  }
  if (worst == nullptr) return {};
  RankMemory out = memory_of(timeline.roles[worst->role], *worst, capacity);
  LOCKSTEP_CHECK(out.needed() == most);
  return out;
}

RankMemory worst_memory_in_order(const RolePrograms& roles, std::optional<Bytes> capacity) {
  const RoleProgram* worst = nullptr;
  Bytes most;
  for (const RoleProgram& role : roles) {
    if (is_host(role)) continue;
    const Bytes peak = peak_memory_in_order(role);
    if (worst != nullptr && peak <= most) continue;
    worst = &role;
    most = peak;
  }
  if (worst == nullptr) return {};
  RankMemory out = memory_of(*worst, in_order(*worst->program, *worst), capacity);
  LOCKSTEP_CHECK(out.needed() == most);
  return out;
}

Bytes most_reserved(const TrainingStepTimeline& timeline, std::optional<Bytes> capacity) {
  Bytes most;
  for (const RankTimeline* rank : first_of_roles(timeline))
    most = std::max(most, reserved_bytes(timeline.roles[rank->role], *rank, capacity));
  return most;
}

Bytes peak_in_order(const RolePrograms& roles) {
  Bytes most;
  for (const RoleProgram& role : roles)
    if (!is_host(role)) most = std::max(most, peak_memory_in_order(role));
  return most;
}

Bytes peak_in_order(const ShortenedProgram& shorter, const RolePrograms& roles) {
  Bytes most;
  for (const RoleProgram& role : roles)
    if (!is_host(role))
      most = std::max(most, peak_memory_in_order(role) + resident_of_left_out(shorter, role));
  return most;
}

Bytes peak_in_order(const Program& program) {
  return peak_in_order(unroll(program));
}

}  // namespace lockstep::app
