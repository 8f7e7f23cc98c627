#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/partition.hpp"

/// How fast a collective could be on this network with any schedule at all, unequal ports and
/// relaying included. Within time T at most T*B bytes pass links of bandwidth B, and a message
/// takes at least its route's latency; what has to pass where, and why, stands in
/// collective_demand.hpp:
///   bandwidth: for every partition of the end points given, what each group must send and receive
///     over its own edge, and what all groups must over all edges;
///   latency: the shortest chain of messages between the two members furthest apart that must hear
///     of each other. Rounds do not multiply it: a rank may send any number of messages at once;
///   reduction: all additions over the sum of all reduction rates.
/// The bound is the largest of these. All are exact, rounded down; the engine rounds each message
/// to a picosecond and may so gain half a picosecond per round on them. Equal ports give the
/// familiar (N-1)/N*S*beta, twice as much for all-reduce, S*beta for broadcast and reduce.
/// ForestColl's cut bound for all-reduce, 2(M/N)*|S|/B_out(S) (arXiv 2402.06787), assumes that
/// every rank ends the reduce-scatter with M/N; where ports differ, a slow rank may be a leaf that
/// sends and receives M once, so that form is not a bound for every all-reduce and is not used.
namespace lockstep {

struct LowerBound {
  Duration latency;
  Duration bandwidth;
  Duration reduction;
  std::string tightest_cut;  // the partition that `bandwidth` comes from
  /// What of `bandwidth` holds also where switches reduce or multicast.
  Duration bandwidth_with_switches{};

  [[nodiscard]] Duration time() const { return std::max({latency, bandwidth, reduction}); }
  [[nodiscard]] Duration time_with_switches() const {
    return std::max(latency, bandwidth_with_switches);
  }
  /// time() rests on end points doing all the adding and copying: switches that reduce or multicast
  /// may be faster.
  [[nodiscard]] bool end_points_only() const { return time() > time_with_switches(); }
};

/// What a network allows; made once, asked for any number of message sizes.
class CollectiveBound {
 public:
  /// Beyond this many end points not all pairs are routed: ports are then bounded only through the
  /// partitions given, and latency only between a few members.
  static constexpr std::size_t kAllPairs = 256;

  /// `members` are the N that hold data, `helpers` what else takes part (switches that reduce,
  /// too); `partitions` are tried next to the one into single end points and, but for all_reduce
  /// and barrier, must have dealt all N members. Pairs without a route bound nothing. `root` is an
  /// index into `members`; `distance` is send_recv's.
  CollectiveBound(Collective collective, const Network& network,
                  std::span<const EndpointId> members, std::span<const EndpointId> helpers = {},
                  std::vector<Partition> partitions = {}, int root = 0, int distance = 1);

  /// For a message of S bytes as nccl-tests counts them: all parts together for scatter, gather,
  /// all_gather and reduce_scatter, what one rank sends for all_to_all and send_recv.
  [[nodiscard]] LowerBound at(Bytes message) const;

 private:
  CollectiveDemand demand_;
  std::vector<Partition> partitions_;
  Duration latency_;
  UInt128 reduce_steps_ = 0;  // sum of reduction rates; 0: reductions cost no time
};

}  // namespace lockstep
