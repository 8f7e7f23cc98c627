#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/network.hpp"
#include "strategies/collectives/bounds/partition.hpp"

/// How fast a collective could be on this network with any schedule at all, unequal ports and
/// relaying included. Within time T at most T*B bytes pass links of bandwidth B, and a message
/// takes at least its route's latency; what has to pass where, and why, stands in
/// collective_demand.hpp:
///   bandwidth: for every partition of the end points given, what each group must send and receive
///     over its own edge, and what all groups must over all edges;
///   latency: the shortest chain of messages between the two members furthest apart that must
///     exchange data. Rounds do not multiply it: a rank may send any number of messages at once;
///   reduction: all additions over the sum of all reduction rates.
/// The bound is the largest of these. Where only ports limit (alpha-beta), only cuts through ports
/// count; where switches reduce or multicast, only what every group itself must send and receive.
/// All are exact, rounded down. The engine ends every message and addition at the nearest
/// picosecond and may so gain on them: bound_on_run() allows for it. Equal ports give the familiar
/// (N-1)/N*S*beta, twice as much for all-reduce, S*beta for broadcast and reduce.
/// ForestColl's cut bound for all-reduce, 2(M/N)*|S|/B_out(S) (arXiv 2402.06787), assumes that
/// every rank ends the reduce-scatter with M/N; where ports differ, a slow rank may be a leaf that
/// sends and receives M once, so that form is not a bound for every all-reduce and is not used.
namespace lockstep {

struct LowerBound {
  Duration latency;
  Duration bandwidth;
  Duration reduction;
  std::string tightest_cut;  // the partition that `bandwidth` comes from

  [[nodiscard]] Duration time() const { return std::max({latency, bandwidth, reduction}); }
};

/// The bound on a replay of so many messages that took `simulated`. Each of them, and each
/// addition, ends at the nearest picosecond: together they may be early by half a picosecond each,
/// and what exceeds the time by no more is lowered to it.
[[nodiscard]] LowerBound bound_on_run(LowerBound bound, Duration simulated, std::uint64_t messages);

/// What is bounded, and where.
struct BoundRequest {
  Collective collective = Collective::all_reduce;
  const Network& network;
  std::span<const EndpointId> members;  // that hold data, N of them
  std::span<const EndpointId>
      auxiliary_ranks{};  // what else takes part (switches that reduce, too)
  /// Tried next to the one into single end points; each deals all N members.
  std::vector<Partition> partitions{};
  int root = 0;      // index into `members`
  int distance = 1;  // send_recv's
  NetworkModel model = NetworkModel::fluid;
  bool switches_reduce = false;  // auxiliary ranks are switches that reduce or multicast
};

/// What a network allows; made once, asked for any number of message sizes.
class CollectiveBound {
 public:
  /// Beyond this many end points not all pairs are routed: ports are then bounded only through the
  /// partitions given, and latency only between a few members.
  static constexpr std::size_t kAllPairs = 256;

  /// Pairs without a route bound nothing. Keeps nothing of the request but its partitions.
  explicit CollectiveBound(BoundRequest request);

  /// For a message of S bytes as nccl-tests counts them: all parts together for scatter, gather,
  /// all_gather and reduce_scatter, what one rank sends for all_to_all and send_recv.
  [[nodiscard]] LowerBound at(Bytes message) const;

 private:
  CollectiveDemand demand_;
  std::vector<Partition> partitions_;
  bool switches_reduce_;
  Duration latency_;
  UInt128 reduce_steps_ = 0;  // sum of reduction rates; 0: reductions cost no time
};

}  // namespace lockstep
