#include "sim/program/periods.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace lockstep {

namespace {

/// Two calls for two microbatches one after the other are not a period yet.
constexpr std::size_t kFewest = 3;

/// After so many periods the states of most steps repeat, once all stages are at work.
constexpr std::size_t kSettling = 2;

/// What routines make of the microbatch of a call.
class RoutineUses {
 public:
  explicit RoutineUses(const Program& program) {
    for (const Routine& routine : program.routines) {
      bool microbatch = false;
      for (const Operation& operation : routine.operations) {
        if (operation.visible.packed.any()) names_one_ = true;
        for (const auto* refs : {&operation.reads, &operation.writes})
          for (const Ref& ref : *refs) {
            if (program.tensors[ref.tensor].scope != Scope::microbatch) continue;
            microbatch = true;
            if (ref.microbatch) names_one_ = true;
          }
      }
      uses_.push_back(microbatch);
    }
  }

  [[nodiscard]] bool microbatch(const Call& call) const { return uses_[call.routine]; }
  /// Some operand names a microbatch by its number, or documents of microbatches differ.
  [[nodiscard]] bool names_one() const { return names_one_; }

 private:
  std::vector<bool> uses_;
  bool names_one_ = false;
};

class RoleRepetition {
 public:
  RoleRepetition(const std::vector<Call>& calls, const RoutineUses& uses)
      : calls_{calls}, uses_{uses} {}

  /// Around the middle, with `microbatches` per period.
  [[nodiscard]] std::optional<RepeatingCalls> find(int microbatches) const {
    std::size_t middle = calls_.size() / 2;
    while (middle < calls_.size() && !uses_.microbatch(calls_[middle])) ++middle;
    if (middle == calls_.size()) return std::nullopt;
    std::size_t next = middle + 1;
    while (next < calls_.size() && !repeats(middle, next, microbatches)) ++next;
    RepeatingCalls out{middle, next, next - middle};
    while (out.last < calls_.size() && repeats(out.last - out.length, out.last, microbatches))
      ++out.last;
    while (out.first > 0 && out.first - 1 + out.length < calls_.size() &&
           repeats(out.first - 1, out.first - 1 + out.length, microbatches))
      --out.first;
    if (out.last - out.first < kFewest * out.length) return std::nullopt;
    return out;
  }

 private:
  [[nodiscard]] bool repeats(std::size_t call, std::size_t later, int microbatches) const {
    const Call& a = calls_[call];
    const Call& b = calls_[later];
    if (a.routine != b.routine || a.position != b.position) return false;
    return !uses_.microbatch(a) || a.microbatch + microbatches == b.microbatch;
  }

  const std::vector<Call>& calls_;
  const RoutineUses& uses_;
};

[[nodiscard]] std::size_t periods_of(const RepeatingCalls& role) {
  return (role.last - role.first) / role.length;
}

[[nodiscard]] int microbatches_of(const Program& program) {
  int out = 0;
  for (const Role& role : program.roles)
    for (const Call& call : role.calls) out = std::max(out, call.microbatch + 1);
  return out;
}

/// Whether every call of the shortened role finds what it needs where the whole role has it: the
/// microbatches of the calls before the repetition are over before the periods that are left out,
/// and those of the calls after it begin so late that earlier microbatches do the same.
[[nodiscard]] bool may_leave_out(const std::vector<Call>& calls, const RepeatingCalls& role,
                                 std::size_t left_out, const RoutineUses& uses) {
  const std::size_t kept = role.last - left_out * role.length;
  const std::size_t soonest = role.first + left_out * role.length;
  int last_before = -1;
  int first_after = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!uses.microbatch(calls[i])) continue;
    if (i < role.first) last_before = std::max(last_before, calls[i].microbatch);
    if (i >= role.last) first_after = std::min(first_after, calls[i].microbatch);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!uses.microbatch(calls[i])) continue;
    if (i >= kept && calls[i].microbatch <= last_before) return false;
    if (i < soonest && calls[i].microbatch >= first_after) return false;
  }
  return true;
}

}  // namespace

std::optional<ProgramPeriods> find_periods(const Program& program) {
  const bool hosts = std::any_of(program.roles.begin(), program.roles.end(),
                                 [](const Role& role) { return role.host; });
  const RoutineUses uses{program};
  if (hosts || uses.names_one()) return std::nullopt;
  const int most = microbatches_of(program) / 2;
  for (int microbatches = 1; microbatches <= most; ++microbatches) {
    ProgramPeriods out;
    out.microbatches = microbatches;
    out.periods = SIZE_MAX;
    for (const Role& role : program.roles) {
      const auto found = RoleRepetition{role.calls, uses}.find(microbatches);
      if (!found) break;
      out.roles.push_back(*found);
      out.periods = std::min(out.periods, periods_of(*found));
    }
    if (out.roles.size() == program.roles.size()) return out;
  }
  return std::nullopt;
}

std::optional<ShortenedProgram> shortened(const Program& program, const ProgramPeriods& periods,
                                          std::size_t kept) {
  if (periods.periods <= kept) return std::nullopt;
  const RoutineUses uses{program};
  ShortenedProgram out;
  out.left_out = periods.periods - kept;
  out.periods = periods;
  out.periods.periods = kept;
  const int later = static_cast<int>(out.left_out) * periods.microbatches;
  std::vector<std::vector<Call>> calls;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    const std::vector<Call>& all = program.roles[i].calls;
    RepeatingCalls& role = out.periods.roles[i];
    if (!may_leave_out(all, role, out.left_out, uses)) return std::nullopt;
    const auto after = static_cast<std::ptrdiff_t>(role.last);
    role.last -= out.left_out * role.length;
    std::vector<Call>& few = calls.emplace_back();
    few.reserve(all.size() - out.left_out * role.length);
    few.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(role.last));
    for (auto call = all.begin() + after; call != all.end(); ++call) {
      few.push_back(*call);
      if (uses.microbatch(*call)) few.back().microbatch -= later;
    }
  }
  // All members, so that one more does not compile before it is said here what becomes of it.
  const auto& [mesh, casts, tensors, routines, streams, roles] = program;
  out.program = {mesh, casts, tensors, routines, streams, {}};
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const Role& role = roles[i];
    out.program.roles.push_back({role.name, role.fixed, role.host, std::move(calls[i])});
  }
  return out;
}

std::optional<ShortenedProgram> shortened(const Program& program) {
  const std::optional<ProgramPeriods> periods = find_periods(program);
  if (!periods) return std::nullopt;
  const auto per_period = static_cast<std::size_t>(periods->microbatches);
  return shortened(program, *periods, kSettling + (program.roles.size() - 1) / per_period);
}

}  // namespace lockstep
