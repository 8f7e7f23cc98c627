#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/fold/key.hpp"

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
  std::int64_t paths = 1;
  Duration latency{};
};

/// Who talks to whom in the calls of a workload, over which links: what symmetry is looked for in.
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
/// routes and the workload must be such that each call has a schedule.
[[nodiscard]] std::optional<Relations> find_relations(const Network& network,
                                                      const Workload& workload, std::uint64_t most);

}  // namespace lockstep::fold
