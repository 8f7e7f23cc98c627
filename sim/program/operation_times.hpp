#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/unroll.hpp"

namespace lockstep {

struct Interval {
  TimePoint start;
  TimePoint end;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// When the host has launched an operation: at a fixed time, or a fixed time after the end of a
/// message of the same role that the host waited for.
struct HostLaunch {
  static constexpr std::uint32_t kStart = UINT32_MAX;
  TimePoint at;
  std::uint32_t after = kStart;
};

/// What the operations of a role wait for: the one before it in its stream, RoleOperation::after,
/// and its launch. From the ends follow start and reason of each operation.
class OperationWaits {
 public:
  static constexpr std::uint32_t kHost = UINT32_MAX - 2;  // the host had not launched it
  static constexpr std::uint32_t kPeer = UINT32_MAX - 1;  // another rank or the network
  static constexpr std::uint32_t kNothing = UINT32_MAX;

  /// `launches` per operation of the role.
  OperationWaits(const RoleProgram& role, const std::vector<HostLaunch>& launches);

  struct Start {
    TimePoint at;
    /// The operation waited for last, of several the first of the list; or kHost, kNothing.
    std::uint32_t bound_by = kNothing;
  };
  /// `ends` of all operations of the role.
  [[nodiscard]] Start start_of(std::uint32_t operation, std::span<const TimePoint> ends) const;

 private:
  std::vector<std::uint32_t> first_;  // per operation, into waits_; and the end of the last
  std::vector<std::uint32_t> waits_;
  std::vector<HostLaunch> launches_;
};

/// Start and end of the operations of one rank, as RoleProgram::operations, and what each waited
/// for last: an operation of this rank (its index), or one of the constants of OperationWaits.
/// Either both times are given, or the ends: 8 bytes an operation. Ranks may have ends in common.
class OperationTimes {
 public:
  OperationTimes() = default;
  OperationTimes(std::vector<TimePoint> ends, std::shared_ptr<const OperationWaits> waits);

  [[nodiscard]] std::size_t size() const { return ends_ ? ends_->size() : 0; }
  [[nodiscard]] TimePoint end_of(std::size_t operation) const { return (*ends_)[operation]; }
  [[nodiscard]] TimePoint start_of(std::size_t operation) const;
  [[nodiscard]] std::uint32_t bound_by(std::size_t operation) const;
  [[nodiscard]] Interval operator[](std::size_t operation) const {
    return {start_of(operation), (*ends_)[operation]};
  }
  [[nodiscard]] std::span<const TimePoint> ends() const {
    return ends_ ? std::span<const TimePoint>{*ends_} : std::span<const TimePoint>{};
  }
  /// Both are the same by construction: one is a copy of the other, not changed since.
  [[nodiscard]] bool shares_with(const OperationTimes& other) const {
    return ends_ == other.ends_ && waits_ == other.waits_ && waits_ != nullptr;
  }

  /// The same times and reasons.
  friend bool operator==(const OperationTimes& a, const OperationTimes& b);

  // From a change on both times are given.
  void push_back(Interval when, std::uint32_t bound_by = OperationWaits::kNothing);
  void pop_back();
  void set(std::size_t operation, Interval when);
  void set_bound_by(std::size_t operation, std::uint32_t bound_by);

  class Iterator {
   public:
    Iterator(const OperationTimes* of, std::size_t at) : of_{of}, at_{at} {}
    [[nodiscard]] Interval operator*() const { return (*of_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const OperationTimes* of_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

 private:
  struct Given {
    TimePoint start;
    std::uint32_t bound_by;
  };

  void give_starts();

  std::shared_ptr<std::vector<TimePoint>> ends_;  // never changed while others have it
  std::shared_ptr<const OperationWaits> waits_;   // null: the starts are given
  std::vector<Given> given_;
};

}  // namespace lockstep
