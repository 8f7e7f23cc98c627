#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/network.hpp"
#include "strategies/collectives/bounds/partition.hpp"

/// Lower bounds on the time of a collective on this network over all schedules, unequal ports and
/// relaying included. Within time T at most T*B bytes cross links of bandwidth B, and a message
/// takes at least its route's latency; collective_demand.hpp derives what must cross where:
///   bandwidth: for every given partition of the endpoints, what each group must send and receive
///     over its own edge, and what all groups together must over all edges;
///   latency: the shortest chain of messages between the two members furthest apart that must
///     exchange data, not multiplied by rounds: a rank may send any number of messages at once;
///   reduction: all additions over the sum of all reduction rates.
/// The bound is the largest of these. With port limits only (alpha-beta), only cuts through ports
/// count; with switches that reduce or multicast, only what each group must send and receive
/// itself. All terms are exact, rounded down. The engine rounds the end of every message and
/// addition to the nearest picosecond and may so fall below them: bound_on_run() allows for it.
/// Equal ports give the familiar (N-1)/N*S*beta, twice that for all-reduce, S*beta for broadcast
/// and reduce. ForestColl's cut bound for all-reduce, 2(M/N)*|S|/B_out(S) (arXiv 2402.06787),
/// assumes that every rank ends the reduce-scatter with M/N; with unequal ports a slow rank may be
/// a leaf that sends and receives M once, so it does not bound every all-reduce and is not used.
namespace lockstep {

struct LowerBound {
  Duration latency;
  Duration bandwidth;
  Duration reduction;
  std::string tightest_cut;  // the partition with the largest bandwidth term

  [[nodiscard]] Duration time() const { return std::max({latency, bandwidth, reduction}); }
};

/// The bound for a replay of `messages` messages that took `simulated`. The engine rounds every
/// message and addition to the nearest picosecond, at most half a picosecond early each; a bound
/// above `simulated` by no more than their sum is lowered to it.
[[nodiscard]] LowerBound bound_on_run(LowerBound bound, Duration simulated, std::uint64_t messages);

/// The collective to bound, and its network.
struct BoundRequest {
  Collective collective = Collective::all_reduce;
  const Network& network;
  std::span<const EndpointId> members;            // that hold data, N of them
  std::span<const EndpointId> auxiliary_ranks{};  // ranks without data, reducing switches included
  /// Tried in addition to single endpoints; each must distribute all N members.
  std::vector<Partition> partitions{};
  int root = 0;      // index into `members`
  int distance = 1;  // of send_recv
  NetworkModel model = NetworkModel::fluid;
  bool switches_reduce = false;  // auxiliary ranks are switches that reduce or multicast
};

/// Bounds of one collective on a network, for any number of message sizes.
class CollectiveBound {
 public:
  /// Above this number of endpoints, only ports of the given partitions bound, and latency is
  /// measured between a few members.
  static constexpr std::size_t kAllPairs = 256;

  /// Pairs without a route are ignored. Copies only the partitions.
  explicit CollectiveBound(BoundRequest request);

  /// The bound for a message of S bytes by the nccl-tests convention: all parts together for
  /// scatter, gather, all_gather and reduce_scatter, what one rank sends for all_to_all and
  /// send_recv.
  [[nodiscard]] LowerBound at(Bytes message) const;

 private:
  CollectiveDemand demand_;
  std::vector<Partition> partitions_;
  bool switches_reduce_;
  Duration latency_;
  UInt128 reduce_steps_ = 0;  // sum of reduction rates; 0: reductions take no time
};

}  // namespace lockstep
