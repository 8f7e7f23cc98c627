#include "sim/execute/program/allocation_record.hpp"

#include <algorithm>
#include <map>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool lies_on_host(const RoleProgram& role, std::uint32_t instance) {
  return role.tensor(instance).on_host || role.program->roles[role.role].host;
}

/// What is held while the log is gone through.
class Held {
 public:
  explicit Held(const RoleProgram& role) : role_{role} {}

  void add(const HeldInstance& what) {
    alive_.emplace(what.instance, what.bytes);
    bytes_[role_.tensor(what.instance).category] += what.bytes;
  }
  void remove(const HeldInstance& what) {
    alive_.erase(what.instance);
    Bytes& of = bytes_[role_.tensor(what.instance).category];
    of = of - what.bytes;
  }
  [[nodiscard]] const CategoryBytes& bytes() const { return bytes_; }

  [[nodiscard]] std::vector<HeldInstance> instances() const {
    std::vector<HeldInstance> out;
    for (const auto& [instance, bytes] : alive_) out.push_back({instance, bytes});
    std::stable_sort(out.begin(), out.end(), [](const HeldInstance& a, const HeldInstance& b) {
      return a.bytes > b.bytes;
    });
    return out;
  }

 private:
  const RoleProgram& role_;
  std::map<std::uint32_t, Bytes> alive_{};
  CategoryBytes bytes_{};
};

void note(AllocationUse& use, TimePoint at, const Held& held) {
  const bool first = use.curve.empty();
  if (first || use.curve.back().held != held.bytes()) use.curve.push_back({at, held.bytes()});
  if (!first && held.bytes().total() <= use.peak.total()) return;
  use.peak_at = at;
  use.peak = held.bytes();
  use.at_peak = held.instances();
}

}  // namespace

void AllocationLog::allocate(TimePoint at, std::uint32_t instance, Bytes bytes) {
  add({at, true, {instance, bytes}});
}

void AllocationLog::release(TimePoint at, std::uint32_t instance, Bytes bytes) {
  add({at, false, {instance, bytes}});
}

void AllocationLog::add(const Change& change) {
  LOCKSTEP_CHECK(changes_.empty() || changes_.back().at <= change.at);
  changes_.push_back(change);
}

AllocationUse AllocationLog::use(const RoleProgram& role, bool on_host) const {
  Held held{role};
  const auto counts = [&](const HeldInstance& what) {
    return lies_on_host(role, what.instance) == on_host;
  };
  for (const HeldInstance& what : residents_) {
    if (counts(what)) held.add(what);
  }
  AllocationUse out;
  const bool begins_later = changes_.empty() || changes_.front().at > TimePoint{};
  if (begins_later) note(out, TimePoint{}, held);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const Change& change = changes_[i];
    if (counts(change.what)) {
      if (change.allocates) held.add(change.what);
      if (!change.allocates) held.remove(change.what);
    }
    if (i + 1 == changes_.size() || changes_[i + 1].at != change.at) note(out, change.at, held);
  }
  return out;
}

}  // namespace lockstep
