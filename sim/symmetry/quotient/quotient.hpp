#pragma once

#include <memory>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/partition/partition.hpp"

namespace lockstep::fold {

/// How the transfers of one class of pairs travel.
struct ClassRoute {
  Route route;              // over links of the quotient, with the weight of the whole class
  std::uint64_t alone = 0;  // the rate of a transfer that shares with nobody, in rate steps; 0: no
                            // links, hence no time but the latency
  /// The rate that links which only this class's pair crosses leave all its transfers together.
  std::uint64_t own = UINT64_MAX;

  /// The time of a transfer that shares with nobody; no transfer takes less.
  [[nodiscard]] Duration time_alone(Bytes bytes) const {
    return alone == 0 ? route.latency : route.latency + time_for(work_of(bytes), alone);
  }
};

/// A workload and its network in which every class of members is one rank, every class of pairs has
/// a channel of its own, and every class of links is one link that what crosses it loads as the
/// class does: its replay gives every class the times of its members.
struct Quotient {
  Network network;
  Workload workload;             // one call for all calls of equal slots
  std::vector<ClassRoute> ways;  // per class of pairs
  /// Which rank of which call a class of members plays.
  struct MemberSlot {
    std::uint32_t call = 0;
    std::uint32_t rank = 0;
  };
  std::vector<MemberSlot> member_slots;  // per class of members
  std::uint32_t channels = 1;            // channel / channels is the class of pairs
};

/// `relations` and the workload that they come from must outlive it.
[[nodiscard]] Quotient make_quotient(const Relations& relations, const Partition& partition,
                                     const Network& network, const Workload& workload,
                                     NetworkModel model);

/// Route i for the channels i * channels and on, for every sender.
[[nodiscard]] std::shared_ptr<const Router> make_channel_router(std::vector<Route> routes,
                                                                std::uint32_t channels);

/// Takes links out of the ways that cannot tell (drop_slack_links): the replay gives the same times
/// and is cheaper, but no longer counts the bytes of those links.
void leave_out_slack_links(Quotient& quotient, NetworkModel model);

}  // namespace lockstep::fold
