#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/reuse/key.hpp"
#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/partition/block_symmetry.hpp"

namespace lockstep::fold {

/// One member of one call.
struct Member {
  std::uint32_t call = 0;
  int rank = 0;  // in the call's schedule
  EndpointId endpoint = 0;
  Key key{};           // of its own behavior: start, endpoint, steps
  bool single = true;  // one lane, at most one send and one receive per step
};

/// A link crossed by the messages of a pair.
struct Crossing {
  std::uint32_t link = 0;  // index into Relations::links
  bool arriving = false;   // of a block other than the sender's, if members are those of one block
  Weight weight = kWeightUnit;
};

/// All messages from one member to another in a call.
struct Pair {
  std::uint32_t sender = 0;  // indices into Relations::members
  std::uint32_t receiver = 0;
  Key key{};                   // of messages, steps and kind of route
  std::int64_t bytes = 0;      // total, including repetitions
  std::int64_t messages = 0;   // total, including repetitions
  std::uint32_t parallel = 1;  // maximum number of messages in flight at once
  std::uint32_t hops = 0;      // as reported by the router
  int block = 0;               // of the receiver, if members are those of block 0
  std::int64_t paths = 1;
  Duration latency{};
};

/// Communicating pairs of the calls of a workload and the links that they cross: the input of
/// symmetry detection.
///
/// If the ranks of the only call can be moved block by block without any difference (`moves`),
/// members are those of block 0, and every member, pair and link represents one per block, as no
/// move maps any to itself. Several pairs may then join two members. An equitable partition of
/// these is one of all, and the coarsest is the coarsest. Where blocks have links together (only
/// with find_relations_of_block()), such a link represents one per group of blocks.
struct Relations {
  std::vector<Member> members;
  std::vector<std::uint32_t> first_member;    // per call
  std::vector<Pair> pairs;                    // by sender
  std::vector<std::uint32_t> first_pair;      // per member, and one more
  std::vector<std::uint64_t> first_crossing;  // per pair, and one more
  std::vector<Crossing> crossings;
  std::vector<LinkId> links;               // crossed links; of a bundle, its representative
  std::vector<std::uint32_t> users;        // per such link: pairs that cross it
  std::vector<std::uint32_t> shared_by;    // per such link: blocks that have it together
  std::vector<std::uint32_t> ordinal;      // per member: its index among those of its endpoint
  std::vector<std::uint32_t> memberships;  // per end point
  std::uint64_t transfers = 0;
  std::uint64_t visited = 0;  // messages of members, those of repeated steps once
  int channels = 1;           // maximum over all schedules
  bool bundled = false;       // routes are outlines
  std::optional<BlockMoves> moves{};
  std::optional<BlockSymmetry> symmetry{};  // with moves

  /// Number of elements that each represents.
  [[nodiscard]] std::uint32_t copies() const {
    return moves ? static_cast<std::uint32_t>(moves->blocks) : 1;
  }
  /// Number of links that a link represents.
  [[nodiscard]] std::uint32_t copies_of(std::uint32_t link) const {
    return std::max(copies() / shared_by[link], 1U);
  }
  [[nodiscard]] std::uint64_t all_links() const;
  /// Rank of a pair's receiver as its sender addresses it, and the reverse.
  [[nodiscard]] int receiver_rank(const Pair& pair) const {
    return members[pair.receiver].rank + (moves ? pair.block * moves->block : 0);
  }
  [[nodiscard]] int sender_rank(const Pair& pair) const {
    return members[pair.sender].rank + (moves ? moves->seen_from(pair.block, 0) * moves->block : 0);
  }
  /// The member that represents a rank of the only call.
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

/// Walks all calls, repeated steps once. Empty if pairs and crossings exceed `most`, a pair has no
/// route, or sends and receives do not match. Every call must have a schedule. `by_blocks`: members
/// of one block represent all if neither the schedule nor the network distinguishes blocks.
[[nodiscard]] std::optional<Relations> find_relations(const Network& network,
                                                      const Workload& workload, std::uint64_t most,
                                                      bool by_blocks = false);

/// The same by a symmetry that is known. Starts, endpoints and bandwidths are those of block 0.
[[nodiscard]] std::optional<Relations> find_relations_of_block(const Network& network,
                                                               const Workload& workload,
                                                               std::uint64_t most,
                                                               const BlockSymmetry& symmetry);

}  // namespace lockstep::fold
