#pragma once

#include <vector>

#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "sim/execute/device_program/collective_commands.hpp"

namespace lockstep::execution {

/// Members of a collective, and their streams.
struct CollectiveMembers {
  std::vector<int> ranks{};
  std::vector<StreamIndex> streams{};  // of each member's operation
};

/// Messages of one collective in a command graph: buffers, packing, unpacking, and the schedule
/// that transfers them. Auxiliary ranks of the schedule are located at the first member.
class CollectiveMessages {
 public:
  using Table = KernelLaunch::Table;

  /// `type`: of the members' elements. Keeps references to all arguments.
  CollectiveMessages(const CollectiveMembers& members, const Schedule& schedule,
                     const CollectiveRoom& room, NumberType type, Reduction reduction,
                     bool in_doubles);

  /// A member's whole message.
  [[nodiscard]] Region message(std::size_t member, Buffer which) const;
  /// Gives every rank a message of `longest` elements, filled with the neutral element of the
  /// reduction.
  void begin(std::int64_t longest);
  /// Copies elements between buffers by index tables; empty: contiguous.
  void move(StreamIndex stream, Region from, Region to, Table from_places, Table to_places,
            std::int64_t count, bool adds);
  void move(StreamIndex stream, Region from, Region to, bool adds) {
    move(stream, from, to, {}, {}, from.count, adds);
  }
  void clear(StreamIndex stream, Region to);
  /// Executes the schedule: lanes start when their rank's message is packed, and the rank's next
  /// command waits for all of them. Throws ExecutionError if the schedule deadlocks.
  void transfer();

 private:
  [[nodiscard]] BufferId buffer(int rank, Buffer which) const;
  [[nodiscard]] std::size_t member_of(int rank) const;
  [[nodiscard]] int rank_of(int rank) const { return members_.ranks[member_of(rank)]; }
  [[nodiscard]] StreamIndex own(int rank) const { return members_.streams[member_of(rank)]; }
  [[nodiscard]] StreamIndex stream(int rank, int lane) const;
  /// each(lane's stream, stream of the member's operation), if they differ.
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
