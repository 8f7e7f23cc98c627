#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/reuse/key.hpp"

namespace lockstep::fold {

/// One member of one call.
struct Member {
  std::uint32_t call = 0;
  int rank = 0;  // in the call's schedule
  EndpointId endpoint = 0;
  Key key{};           // of all that it does by itself: its start, its end point, its steps
  bool single = true;  // one lane, and at most one send and one receive in a step
};

/// A crossing of a link by what goes from one member to another.
struct Crossing {
  std::uint32_t link = 0;  // index into Relations::links
  bool arriving = false;   // of another block than the sender's, where members are those of one
  Weight weight = kWeightUnit;
};

/// All that one member sends another in a call.
struct Pair {
  std::uint32_t sender = 0;  // indices into Relations::members
  std::uint32_t receiver = 0;
  Key key{};                   // of what is sent, when, and over what kind of way
  std::int64_t bytes = 0;      // in all, repetitions too
  std::int64_t messages = 0;   // likewise
  std::uint32_t parallel = 1;  // most messages that may be under way at once
  std::uint32_t hops = 0;      // as the router tells them
  int block = 0;  // of the receiver, where members are those of one block alone and senders of 0
  std::int64_t paths = 1;
  Duration latency{};
};

/// Who talks to whom in the calls of a workload, over which links: what symmetry is looked for in.
///
/// Where one call's ranks can be moved block by block without a difference to anybody (`moves`),
/// members are those of block 0 alone, and every member, pair and link stands for as many as there
/// are blocks: moves leave none of them where it is. Several pairs may then join two members. What
/// is an equitable partition of these is one of all, and the coarsest of these is the coarsest.
struct Relations {
  std::vector<Member> members;
  std::vector<std::uint32_t> first_member;    // per call
  std::vector<Pair> pairs;                    // by sender
  std::vector<std::uint32_t> first_pair;      // per member, and one more
  std::vector<std::uint64_t> first_crossing;  // per pair, and one more
  std::vector<Crossing> crossings;
  std::vector<LinkId> links;  // those that are crossed, bundles by the one that stands for them
  std::vector<std::uint32_t> users;        // per such link: pairs that cross it
  std::vector<std::uint32_t> ordinal;      // per member: how many of its end point's come before
  std::vector<std::uint32_t> memberships;  // per end point
  std::uint64_t transfers = 0;
  int channels = 1;      // of all schedules, at the most
  bool bundled = false;  // routes are outlines
  std::optional<BlockMoves> moves{};

  /// For how many each stands.
  [[nodiscard]] std::uint32_t copies() const {
    return moves ? static_cast<std::uint32_t>(moves->blocks) : 1;
  }
  /// A pair's receiver as its sender names it in the call's schedule, and the other way round.
  [[nodiscard]] int receiver_rank(const Pair& pair) const {
    return members[pair.receiver].rank + (moves ? pair.block * moves->block : 0);
  }
  [[nodiscard]] int sender_rank(const Pair& pair) const {
    return members[pair.sender].rank + (moves ? moves->seen_from(pair.block, 0) * moves->block : 0);
  }
  /// The member that stands for a rank of the one call.
  [[nodiscard]] std::uint32_t member_of(std::uint32_t rank) const {
    return moves ? rank % static_cast<std::uint32_t>(moves->block) : rank;
  }

  [[nodiscard]] std::span<const Pair> sent_by(std::uint32_t member) const {
    return std::span{pairs}.subspan(first_pair[member],
                                    first_pair[member + 1] - first_pair[member]);
  }
  [[nodiscard]] std::span<const Crossing> crossings_of(std::uint32_t pair) const {
    return std::span{crossings}.subspan(first_crossing[pair],
                                        first_crossing[pair + 1] - first_crossing[pair]);
  }
  [[nodiscard]] bool shares_endpoint(std::uint32_t member) const {
    return memberships[members[member].endpoint] > 1;
  }
};

/// Walks all calls, steps that repeat once. `most` bounds pairs and crossings together. Empty where
/// that is not enough, where two have no route, or sends and receives do not match; the network's
/// routes and the workload must be such that each call has a schedule. `by_blocks`: members of one
/// block stand for all where neither the schedule nor the network distinguishes blocks.
[[nodiscard]] std::optional<Relations> find_relations(const Network& network,
                                                      const Workload& workload, std::uint64_t most,
                                                      bool by_blocks = false);

}  // namespace lockstep::fold
