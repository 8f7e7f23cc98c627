#pragma once

#include <cstdint>

#include "sim/schedule/contract.hpp"

/// What a collective asks of a network with any schedule at all. Setting: N members of the
/// collective hold data, auxiliary ranks may relay and add up. S is the length of the message as
/// nccl-tests counts it: each rank's own data, or, where parts matter (scatter, gather, all_gather,
/// reduce_scatter), all parts together; parts are equally long. A message goes from one end point
/// to another and carries, per byte, one byte of somebody's data or, where the collective reduces,
/// a sum over some members. Take one byte (one element) at a time.
///
/// 1. A group of m members (0 < m < N), whatever else lies in it, and its edge, as fractions
///    of S:
///      collective      must leave                   must enter
///      all_reduce      1                            1
///      reduce_scatter  (N-m)/N                      m/N
///      all_gather      m/N                          (N-m)/N
///      broadcast       1 with the root, else 0      0 with the root, else 1
///      reduce          0 with the root, else 1      1 with the root, else 0
///      scatter         (N-m)/N with the root, or 0  0 with the root, else m/N
///      gather          0 with the root, else m/N    (N-m)/N with the root, or 0
///      all_to_all      m(N-m)/N                     m(N-m)/N
///      send_recv       members whose receiver lies outside, and as many whose sender does
///    Data that only the group holds and somebody outside needs has to leave it at least once;
///    where sums are needed outside, so has at least one sum with the group's contributions.
///    Likewise what somebody inside needs and only others hold, or contribute to, has to enter. For
///    all_reduce both are the whole message, for reduce_scatter the parts summed up outside and
///    inside. The shift by d of a run of m neighbors round the cycle of N keeps max(0, m-d) +
///    max(0, m-(N-d)) of them inside. This holds too where switches reduce or multicast.
/// 2. P disjoint groups of members together, next to groups of auxiliary ranks: crossings between
/// groups,
///    per byte.
///      all_reduce: 2(P-1). Let v be the first end point that holds the complete sum (ties broken
///        by any order). Every group with members but v's own sent its contribution in a message of
///        its own before: at least P-1. Every such group must still receive one that carries the
///        complete sum: at least P-1 more.
///      reduce, reduce_scatter: P-1, since every group with members but the owner's sends at least
///        one message with its contribution.
///      broadcast, all_gather: P-1, since every group with members but the holder's receives at
///        least one message with the byte.
///      Others: nothing beyond what the single groups say.
///    Every crossing leaves one group and enters another. Switches that reduce or multicast need
///    fewer: one message into a switch may come out as several, several as one.
/// 3. Latency. What i holds has to reach j through one or more messages: from the root to everyone
///    (broadcast, scatter), from everyone to the root (reduce, gather), from each to its receiver
///    (send_recv), from everyone to everyone (all others; a barrier too, since nobody may end
///    before all others have arrived).
/// 4. Reduction. N-1 additions for every element of S, by somebody.
namespace lockstep {

/// A fraction of the message.
struct MessageFraction {
  std::int64_t parts = 0;
  std::int64_t of = 1;
};

class CollectiveDemand {
 public:
  /// Requires 0 <= root < members; distance is that of send_recv.
  CollectiveDemand(Collective collective, std::int64_t members, std::int64_t root,
                   std::int64_t distance);

  [[nodiscard]] std::int64_t members() const { return members_; }
  [[nodiscard]] std::int64_t root() const { return root_; }
  [[nodiscard]] std::int64_t distance() const { return distance_; }

  /// What must leave (enter) a group of `count` consecutive members.
  [[nodiscard]] MessageFraction leaving(std::int64_t count, bool with_root) const;
  [[nodiscard]] MessageFraction entering(std::int64_t count, bool with_root) const;
  /// What must cross between `groups` groups in total, if only endpoints reduce and copy.
  [[nodiscard]] MessageFraction together(std::int64_t groups) const;
  /// Whether member j depends on data of member i.
  [[nodiscard]] bool reaches(std::int64_t i, std::int64_t j) const;
  /// Additions per element.
  [[nodiscard]] std::int64_t additions() const;

 private:
  [[nodiscard]] std::int64_t shifted_out(std::int64_t count) const;

  Collective collective_;
  std::int64_t members_;
  std::int64_t root_;
  std::int64_t distance_;
};

}  // namespace lockstep
