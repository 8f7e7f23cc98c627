#include "sim/program/operation_times.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

OperationWaits::OperationWaits(const RoleProgram& role, const std::vector<HostLaunch>& launches)
    : launches_{launches} {
  LOCKSTEP_CHECK(launches.size() == role.operations.size());
  std::vector<std::uint32_t> last(role.program->streams.size(), kNothing);
  first_.reserve(role.operations.size() + 1);
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    first_.push_back(static_cast<std::uint32_t>(waits_.size()));
    std::uint32_t& before = last[role.operations[i].operation->stream];
    if (before != kNothing) waits_.push_back(before);
    before = i;
    for (const std::uint32_t each : role.operations[i].after) waits_.push_back(each);
  }
  first_.push_back(static_cast<std::uint32_t>(waits_.size()));
}

OperationWaits::Start OperationWaits::start_of(std::uint32_t operation,
                                               std::span<const TimePoint> ends) const {
  Start out;
  for (std::uint32_t i = first_[operation]; i < first_[operation + 1]; ++i) {
    const TimePoint end = ends[waits_[i]];
    if (out.bound_by != kNothing && end <= out.at) continue;
    out.at = std::max(out.at, end);
    out.bound_by = waits_[i];
  }
  const HostLaunch& launch = launches_[operation];
  const TimePoint from = launch.after == HostLaunch::kStart ? TimePoint{} : ends[launch.after];
  const TimePoint launched = from + launch.at.since_start();
  return launched > out.at ? Start{launched, kHost} : out;
}

OperationTimes::OperationTimes(std::vector<TimePoint> ends,
                               std::shared_ptr<const OperationWaits> waits)
    : ends_{std::make_shared<std::vector<TimePoint>>(std::move(ends))}, waits_{std::move(waits)} {
  LOCKSTEP_CHECK(waits_ != nullptr);
}

TimePoint OperationTimes::start_of(std::size_t operation) const {
  if (waits_ == nullptr) return given_[operation].start;
  return waits_->start_of(static_cast<std::uint32_t>(operation), *ends_).at;
}

std::uint32_t OperationTimes::bound_by(std::size_t operation) const {
  if (waits_ == nullptr) return given_[operation].bound_by;
  return waits_->start_of(static_cast<std::uint32_t>(operation), *ends_).bound_by;
}

bool operator==(const OperationTimes& a, const OperationTimes& b) {
  if (a.shares_with(b)) return true;
  if (!std::ranges::equal(a.ends(), b.ends())) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a.start_of(i) != b.start_of(i) || a.bound_by(i) != b.bound_by(i)) return false;
  return true;
}

void OperationTimes::give_starts() {
  if (ends_ == nullptr) {
    ends_ = std::make_shared<std::vector<TimePoint>>();
  } else if (ends_.use_count() > 1) {
    ends_ = std::make_shared<std::vector<TimePoint>>(*ends_);
  }
  if (waits_ == nullptr) return;
  for (std::size_t i = 0; i < ends_->size(); ++i) given_.push_back({start_of(i), bound_by(i)});
  waits_.reset();
}

void OperationTimes::push_back(Interval when, std::uint32_t bound_by) {
  give_starts();
  ends_->push_back(when.end);
  given_.push_back({when.start, bound_by});
}

void OperationTimes::pop_back() {
  give_starts();
  ends_->pop_back();
  given_.pop_back();
}

void OperationTimes::set(std::size_t operation, Interval when) {
  give_starts();
  (*ends_)[operation] = when.end;
  given_[operation].start = when.start;
}

void OperationTimes::set_bound_by(std::size_t operation, std::uint32_t bound_by) {
  give_starts();
  given_[operation].bound_by = bound_by;
}

}  // namespace lockstep
