#pragma once

#include <vector>

#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "sim/execute/device_program/collective_commands.hpp"

namespace lockstep::execution {

/// Who takes part in a collective, and on which streams.
struct CollectiveMembers {
  std::vector<int> ranks{};
  std::vector<StreamIndex> streams{};  // of each one's operation
};

/// The messages of one collective in a command graph: room for them, what moves into and out of
/// them, and the schedule that moves them. Ranks of the schedule beyond the members are auxiliary
/// ranks, which are where the first member is.
class CollectiveMessages {
 public:
  using Table = KernelLaunch::Table;

  /// `type`: of what members bring. All must outlive it.
  CollectiveMessages(const CollectiveMembers& members, const Schedule& schedule,
                     const CollectiveRoom& room, NumberType type, Reduction reduction,
                     bool in_doubles);

  /// All of a member's message.
  [[nodiscard]] Region message(std::size_t member, Buffer which) const;
  /// Gives every rank a message of `longest` elements, filled with what counts for nothing.
  void begin(std::int64_t longest);
  /// Moves elements of one buffer to another by tables of places; empty: one after the other.
  void move(StreamIndex stream, Region from, Region to, Table from_places, Table to_places,
            std::int64_t count, bool adds);
  void move(StreamIndex stream, Region from, Region to, bool adds) {
    move(stream, from, to, {}, {}, from.count, adds);
  }
  void clear(StreamIndex stream, Region to);
  /// Runs the schedule: lanes begin when their rank's message is packed, and what the rank does
  /// next comes after all of them. Errors: ExecutionError if the schedule deadlocks.
  void transfer();

 private:
  [[nodiscard]] BufferId buffer(int rank, Buffer which) const;
  [[nodiscard]] std::size_t member_of(int rank) const;
  [[nodiscard]] int rank_of(int rank) const { return members_.ranks[member_of(rank)]; }
  [[nodiscard]] StreamIndex own(int rank) const { return members_.streams[member_of(rank)]; }
  [[nodiscard]] StreamIndex stream(int rank, int lane) const;
  /// each(lane's stream, stream of the member's operation), where these differ.
  template <class Each>
  void for_each_lane(Each&& each) const;
  [[nodiscard]] KernelLaunch launch_of(KernelFunction function, std::int64_t count) const;

  const CollectiveMembers& members_;
  const Schedule& schedule_;
  const CollectiveRoom& room_;
  NumberType type_;
  Reduction reduction_;
  bool in_doubles_;
  std::int64_t block_ = 1;
};

}  // namespace lockstep::execution
