#include "sim/trace/passes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/trace/peers.hpp"

namespace lockstep {

namespace {

/// Of the routines of a block, by the end of their names.
struct RoutineKind {
  std::string_view end;
  Pass::Kind kind;
};
constexpr std::array<RoutineKind, 4> kRoutineKinds = {{
    {".forward", Pass::Kind::forward},
    {".backward", Pass::Kind::backward},
    {".input_gradients", Pass::Kind::input_gradient},
    {".weight_gradients", Pass::Kind::weight_gradient},
}};

/// None of what belongs to no pass, such as casts of weights before a step.
std::optional<Pass::Kind> kind_of(const RoleProgram& role, const RoleOperation& of) {
  const std::string_view name = role.program->routines[of.call.routine].name;
  for (const RoutineKind& each : kRoutineKinds)
    if (name.size() > each.end.size() && name.substr(name.size() - each.end.size()) == each.end)
      return each.kind;
  if (of.operation->purpose == Purpose::update) return Pass::Kind::update;
  return std::nullopt;
}

/// Chunks as first positions. Positions in a row with different microbatches are chunks of their
/// own: of a pipeline from both ends.
std::vector<int> chunk_starts(const RoleProgram& role) {
  std::map<int, int> first;  // microbatch of a position
  for (const RoleOperation& of : role.operations) {
    if (kind_of(role, of).value_or(Pass::Kind::update) == Pass::Kind::update) continue;
    // What is sent on is of the next chunk's position.
    if (of.operation->purpose == Purpose::communication) continue;
    const auto found = first.try_emplace(of.call.position, of.call.microbatch).first;
    found->second = std::min(found->second, of.call.microbatch);
  }
  std::vector<int> out;
  std::optional<std::pair<int, int>> last;
  for (const auto& [position, microbatch] : first) {
    if (last != std::pair{position - 1, microbatch}) out.push_back(position);
    last = {position, microbatch};
  }
  return out;
}

bool is_same(const Pass& a, const Pass& b) {
  return a.kind == b.kind && a.microbatch == b.microbatch && a.chunk == b.chunk;
}

}  // namespace

std::string_view to_string(Pass::Kind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"forward", "backward", "input gradients",
                                                      "weight gradients", "optimizer"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool belongs_to_pass(const RoleProgram& role, const RoleOperation& operation) {
  return kind_of(role, operation).has_value();
}

std::vector<Pass> passes(const RoleProgram& role, const RankTimeline& rank) {
  LOCKSTEP_CHECK(role.operations.size() == rank.operations.size());
  const std::vector<int> starts = chunk_starts(role);
  std::vector<Pass> out;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const RoleOperation& of = role.operations[i];
    const Interval interval = rank.operations[i];
    const std::optional<Pass::Kind> kind = kind_of(role, of);
    const bool computes =
        of.operation->stream == kComputeStream && !is_communication(*of.operation);
    if (!kind || !computes || interval.start == interval.end) continue;
    Pass pass{*kind, 0, 0, interval, {}};
    if (*kind != Pass::Kind::update) {
      const auto next = std::upper_bound(starts.begin(), starts.end(), of.call.position);
      pass.microbatch = of.call.microbatch;
      pass.chunk = static_cast<int>(next - starts.begin()) - 1;
    }
    if (of.operation->purpose == Purpose::recompute)
      pass.recomputation = interval.end - interval.start;
    if (!out.empty() && is_same(out.back(), pass)) {
      out.back().interval.end = interval.end;
      out.back().recomputation += pass.recomputation;
    } else {
      out.push_back(pass);
    }
  }
  return out;
}

}  // namespace lockstep
