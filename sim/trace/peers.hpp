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

/// Who took part in a communication, and what an operation waited for.
namespace lockstep {

/// An operation of a simulated rank: indices into TrainingStepTimeline::ranks and its operations.
struct Place {
  std::size_t rank = 0;
  std::uint32_t operation = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Matches communication of the simulated ranks (CommunicationIndex has the rules). A rank that was
/// not simulated is stood for by one that was and plays the same role.
/// Keeps what it has looked up: not for several threads at once.
class Peers {
 public:
  /// The timeline must outlive it. Errors: InternalError where a rank and its role differ in
  /// length.
  explicit Peers(const TrainingStepTimeline& timeline);

  /// The other ends of a communication: each simulated rank once, by its index. Empty of what is no
  /// communication, and where no other end was simulated.
  [[nodiscard]] std::vector<Place> others(Place place) const;
  /// Those among others() that are the very ranks meant, not such as stand for them.
  [[nodiscard]] std::vector<Place> exact_others(Place place) const;
  /// The end that came last, and thus began the transfer; `place` itself where it is one of them
  /// or the others are not known.
  [[nodiscard]] Place latest(Place place) const;
  /// When all ends had come, within the operation's own interval.
  [[nodiscard]] TimePoint transfer_start(Place place) const;
  /// The operation of the same rank that it waited for last: as the timeline says or, where that
  /// says nothing of this rank, the last to end of those that had to end before. Of an operation
  /// that its host had not launched: what the host waited for last before it did; none where it has
  /// waited for nothing since the start of the step.
  [[nodiscard]] std::optional<Place> before(Place place) const;
  /// Whether it could have started earlier, had its host launched it earlier.
  [[nodiscard]] bool bound_by_host(Place place) const;
  /// Whether an idle wait for `other` is a bubble of the pipeline: both are devices and play
  /// different roles.
  [[nodiscard]] bool other_stage(std::size_t rank, std::size_t other) const;
  /// What reports call the group of a communication: its own name, else that of its axes; `host`
  /// of copies between device and host.
  [[nodiscard]] std::string group(const Operation& operation) const;

  [[nodiscard]] const RoleOperation& operation(Place place) const;
  [[nodiscard]] const Interval& interval(Place place) const;
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
  std::map<std::size_t, std::size_t> stand_in_;       // by role: the first simulated rank
  /// By simulated rank, channel and whether it sends there.
  mutable std::map<std::tuple<std::size_t, std::uint32_t, bool>, std::vector<Member>> members_;
};

}  // namespace lockstep
