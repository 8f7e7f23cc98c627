#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/units.hpp"

/// How fast an all-reduce could be on this network with any schedule at all, reduction being done
/// at end points only (reduction in the network has other bounds).
///
/// Setting: N members hold M bytes each; H helpers (parameter servers) may relay and add up. A
/// message carries, per byte, a partial sum of one byte's element. Take one element.
///
/// 1. Messages. Let v be the first end point that holds the complete sum (ties broken by any
///    order). Each of the N members (but v itself) sent its contribution in a message of its own
///    before: at least N-1. Every other member must still receive one that carries the complete
///    sum: at least N-1 more. So 2(N-1) messages, however they are arranged, helpers or not.
/// 2. Partition. Divide the end points into disjoint groups, P of which hold members. The groups
///    behave like P members: of each element 2(P-1) messages cross between groups, and each one
///    that holds members sends at least one and receives at least one. With B_g the bandwidth of
///    all links that leave (enter) group g, within time T at most T*sum(B_g) bytes leave groups:
///      T >= 2(P-1)*M / sum(B_g over all groups),   T >= M / min(B_g over those with members).
///    Equal ports give the familiar 2(N-1)/N*M*beta, equal nodes 2(P-1)/P*M*beta. ForestColl's cut
///    bound 2(M/N)*|S|/B_out(S) (arXiv 2402.06787) assumes that every rank ends the reduce-scatter
///    with M/N; where ports differ, a slow rank may be a leaf that sends and receives M once, so
///    that form is not a bound for every all-reduce and is not used.
/// 3. Latency. What i holds has to reach j through one or more messages, each of which takes its
///    route's latency: T >= the shortest such chain, for any i and j. Rounds do not multiply it: a
///    rank may send any number of messages at once, and one_shot does end after one latency.
/// 4. Reduction. N-1 additions per element, by somebody: T >= (N-1)*M / sum of reduction rates.
///
/// The bound is the largest of these. All are exact, rounded down; the engine rounds each message
/// to a picosecond and may so gain half a picosecond per round on them.
namespace lockstep {

/// Disjoint groups of end points that hold all members (and helpers), with the bandwidth that
/// leaves and enters each. Filled group by group or, for equal ones, many at once.
class Partition {
 public:
  explicit Partition(std::string name) : name_{std::move(name)} {}
  void add(Rate leaving, Rate entering, std::int64_t groups = 1);
  /// Groups that hold helpers only.
  void add_helpers(Rate leaving, Rate entering, std::int64_t groups = 1);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Duration least_time(Bytes message) const;

 private:
  struct Direction {
    UInt128 total_steps = 0;        // 2^-16 bytes per second
    std::uint64_t least_steps = 0;  // among groups with members; 0: none yet

    void add(Rate rate, std::int64_t groups, bool members);
    [[nodiscard]] Duration least_time(Bytes message, std::int64_t groups) const;
  };

  std::string name_;
  std::int64_t groups_ = 0;  // that hold members
  Direction leaving_;
  Direction entering_;
};

struct LowerBound {
  Duration latency;
  Duration bandwidth;
  Duration reduction;
  std::string tightest_cut;  // the partition that `bandwidth` comes from

  [[nodiscard]] Duration time() const { return std::max({latency, bandwidth, reduction}); }
};

/// What a network allows; made once, asked for any number of message sizes.
class AllReduceBound {
 public:
  /// Beyond this many end points not all pairs are routed: ports are then bounded only through the
  /// partitions given, and latency only between a few members.
  static constexpr std::size_t kAllPairs = 256;

  /// `members` are the N that hold data, `helpers` what else takes part; `partitions` are tried
  /// next to the one into single end points. Pairs without a route bound nothing.
  AllReduceBound(const Network& network, std::span<const EndpointId> members,
                 std::span<const EndpointId> helpers, std::vector<Partition> partitions = {});

  [[nodiscard]] LowerBound at(Bytes message) const;

 private:
  std::int64_t members_;
  std::vector<Partition> partitions_;
  Duration latency_;
  UInt128 reduce_steps_ = 0;  // sum of reduction rates; 0: reductions cost no time
};

}  // namespace lockstep
