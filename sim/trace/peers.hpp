#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/timeline.hpp"

/// Who took part in a communication, and what an operation waited for.
namespace lockstep {

/// An operation of a simulated rank: indices into StepTimeline::ranks and its operations.
struct Place {
  std::size_t rank = 0;
  std::uint32_t operation = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Matches communication of the simulated ranks. A send meets the receive of the same tensor
/// instance by its peer, repeated ones in their order; where the two ends name the tensor
/// differently (a ring that passes keys on), by order between the same two positions. Collectives
/// of one communicator meet in the order in which its members issue them.
/// A rank that was not simulated is stood for by one that was and plays the same role.
class Peers {
 public:
  /// The timeline must outlive it. Errors: InternalError where a rank and its role differ in
  /// length.
  explicit Peers(const StepTimeline& timeline);

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
  /// says nothing of this rank, the last to end of those that had to end before.
  [[nodiscard]] std::optional<Place> before(Place place) const;
  /// Whether an idle wait for `other` is a bubble of the pipeline: both are devices and play
  /// different roles.
  [[nodiscard]] bool other_stage(std::size_t rank, std::size_t other) const;
  /// What reports call the group of a communication: its own name, else that of its axes; `host`
  /// of copies between device and host.
  [[nodiscard]] std::string group(const Operation& operation) const;

  [[nodiscard]] const RoleOperation& operation(Place place) const;
  [[nodiscard]] const Interval& interval(Place place) const;
  [[nodiscard]] const StepTimeline& timeline() const { return *timeline_; }

 private:
  using ChannelId = std::uint32_t;
  /// A communicator and, of sends and receives, by how much further the receiver stands.
  struct Channel {
    bool collective = true;
    Atoms over{};
    std::vector<int> only{};
    std::optional<int> host{};
    std::string group{};
    int displacement = 0;

    friend auto operator<=>(const Channel&, const Channel&) = default;
  };
  enum class End : std::uint8_t { collective, send, receive };
  using List = std::vector<std::uint32_t>;  // operations, in their order
  using Named = std::tuple<End, ChannelId, TensorInstance>;
  /// What one role communicates.
  struct RoleIndex {
    std::vector<std::uint32_t> previous;  // operation before it in its stream
    std::vector<ChannelId> channel;       // per operation
    std::vector<std::uint32_t> place;     // in its list of by_order
    std::vector<std::uint32_t> repeat;    // in its list of by_tensor
    std::map<std::pair<End, ChannelId>, List> by_order;
    std::map<Named, List> by_tensor;
  };
  struct Member {
    std::size_t rank = 0;
    bool exact = false;
  };

  [[nodiscard]] RoleIndex index_role(const RoleProgram& role);
  void add_communication(RoleIndex& index, const RoleProgram& role, std::uint32_t operation);
  [[nodiscard]] ChannelId channel_of(const Operation& operation);
  [[nodiscard]] std::optional<Member> resolve(int rank) const;
  [[nodiscard]] const std::vector<Member>& members(std::size_t rank, End end,
                                                   ChannelId channel) const;
  [[nodiscard]] std::vector<int> ranks_meant(std::size_t rank, End end, ChannelId channel) const;
  [[nodiscard]] std::optional<std::uint32_t> matching(Place place, std::size_t other) const;
  [[nodiscard]] std::optional<Place> local_before(Place place) const;
  [[nodiscard]] const RoleIndex& index_of(std::size_t rank) const;
  [[nodiscard]] std::vector<Place> matched(Place place, bool exact_only) const;

  const StepTimeline* timeline_;
  std::vector<Channel> channels_;
  std::map<Channel, ChannelId> channel_ids_;
  std::vector<RoleIndex> roles_;
  std::map<int, std::size_t> simulated_;         // by rank
  std::map<std::size_t, std::size_t> stand_in_;  // by role: the first simulated rank
  mutable std::map<std::tuple<std::size_t, End, ChannelId>, std::vector<Member>> members_;
};

[[nodiscard]] bool is_communication(const Operation& operation);

}  // namespace lockstep
