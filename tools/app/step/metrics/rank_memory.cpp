#include "tools/app/step/metrics/rank_memory.hpp"

#include <fmt/format.h>

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

/// The rank that needs the most of those added, the first of equal ones.
class Worst {
 public:
  explicit Worst(std::optional<Bytes> capacity) : capacity_{capacity} {}

  void add(const RoleProgram& role, const RankTimeline& rank) {
    MemoryAccount account = memory_account(role, rank);
    if (any_ && account.device.peak.held.total() <= worst_.needed()) return;
    any_ = true;
    worst_ = {};
    worst_.rank = rank.rank;
    worst_.role = role.program->roles[role.role].name;
    worst_.account = std::move(account);
    worst_.model_states = model_state_bytes(resident_bytes(role));
    worst_.capacity = capacity_;
    put_in_words(role, worst_);
  }

  [[nodiscard]] RankMemory take() && { return std::move(worst_); }

 private:
  std::optional<Bytes> capacity_;
  bool any_ = false;
  RankMemory worst_;
};

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
  Worst worst(capacity);
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : timeline.ranks) {
    if (timeline.program->roles[rank.role].host || !seen.insert(rank.role).second) continue;
    worst.add(timeline.roles[rank.role], rank);
  }
  return std::move(worst).take();
}

RankMemory worst_memory_in_order(const Program& program, std::optional<Bytes> capacity) {
  Worst worst(capacity);
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    if (program.roles[i].host) continue;
    const RoleProgram role = unroll(program, i);
    worst.add(role, in_order(program, role));
  }
  return std::move(worst).take();
}

Bytes most_reserved(const TrainingStepTimeline& timeline, std::optional<Bytes> capacity) {
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
