#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/timeline.hpp"
#include "sim/trace/communication_index.hpp"

/// Participants of communications, and dependencies of operations.
namespace lockstep {

/// Identifies an operation: indices into TrainingStepTimeline::ranks and its operations.
struct Place {
  std::size_t rank = 0;
  std::uint32_t operation = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Matches communication between simulated ranks (rules: CommunicationIndex). A rank that was not
/// simulated is represented by one with the same role. Caches results: not thread-safe.
class Peers {
 public:
  /// The timeline must outlive this object. Throws InternalError if a rank and its role differ in
  /// length.
  explicit Peers(const TrainingStepTimeline& timeline);

  /// The other simulated participants of a communication, each once. Empty if it is no
  /// communication, or if none was simulated.
  [[nodiscard]] std::vector<Place> others(Place place) const;
  /// The members of others() that are the actual ranks, not representatives.
  [[nodiscard]] std::vector<Place> exact_others(Place place) const;
  /// The participant that arrived last and so started the transfer; `place` itself if it is one of
  /// them or the others are unknown.
  [[nodiscard]] Place latest(Place place) const;
  /// Arrival of the last participant, within the operation's own interval.
  [[nodiscard]] TimePoint transfer_start(Place place) const;
  /// The operation of the same rank that it waited for last: from the timeline or, if it has none
  /// for this rank, the dependency that ended last. For an operation waiting for its launch: what
  /// the host waited for last before launching it; none if nothing since the start of the step.
  [[nodiscard]] std::optional<Place> before(Place place) const;
  /// Whether an earlier launch would have allowed an earlier start.
  [[nodiscard]] bool bound_by_host(Place place) const;
  /// Whether idle waiting for `other` is a pipeline bubble: both are devices with different roles.
  [[nodiscard]] bool other_stage(std::size_t rank, std::size_t other) const;
  /// Name of a communication's group in reports: its own, else that of its axes; `host` for copies
  /// between device and host.
  [[nodiscard]] std::string group(const Operation& operation) const;

  [[nodiscard]] const RoleOperation& operation(Place place) const;
  [[nodiscard]] Interval interval(Place place) const;
  [[nodiscard]] const TrainingStepTimeline& timeline() const { return *timeline_; }

 private:
  struct Member {
    std::size_t rank = 0;
    bool exact = false;
  };

  [[nodiscard]] std::size_t role_of(std::size_t rank) const { return timeline_->ranks[rank].role; }
  [[nodiscard]] std::optional<Member> resolve(int rank) const;
  [[nodiscard]] const std::vector<Member>& members(Place place) const;
  [[nodiscard]] std::vector<int> ranks_meant(Place place) const;
  [[nodiscard]] std::vector<Place> matched(Place place, bool exact_only) const;
  [[nodiscard]] std::optional<Place> local_before(Place place) const;
  [[nodiscard]] std::optional<Place> launched_after(Place place) const;

  const TrainingStepTimeline* timeline_;
  CommunicationIndex index_;
  std::vector<std::vector<std::uint32_t>> previous_;  // per role and operation: in its stream
  std::map<int, std::size_t> simulated_;              // by rank
  std::map<std::size_t, std::size_t> stand_in_;       // by role: its first simulated rank
  /// By simulated rank, channel and whether it sends there.
  mutable std::map<std::tuple<std::size_t, std::uint32_t, bool>, std::vector<Member>> members_;
};

}  // namespace lockstep
