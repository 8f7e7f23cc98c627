#pragma once

#include <memory>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/symmetry/partition/partition.hpp"

namespace lockstep::fold {

/// Route of the transfers of one class of pairs.
struct ClassRoute {
  Route route;              // over links of the quotient, with the weight of the whole class
  std::uint64_t alone = 0;  // rate without contention, in rate steps; 0: no links, only latency
  /// Rate that links of this class alone allow all its transfers together.
  std::uint64_t own = UINT64_MAX;

  /// Time of a transfer without contention, a lower bound.
  [[nodiscard]] Duration time_alone(Bytes bytes) const {
    return alone == 0 ? route.latency : route.latency + time_for(work_of(bytes), alone);
  }
};

/// A workload and network with one rank per class of members, one channel per class of pairs, and
/// one link per class of links, loaded as each link of the class is. Its replay gives the times of
/// all members of each class.
struct Quotient {
  Network network;
  Workload workload;                     // one call for all of equal slots and weight
  std::vector<ClassRoute> class_routes;  // per class of pairs
  /// The rank and call of a class of members.
  struct MemberSlot {
    std::uint32_t call = 0;
    std::uint32_t rank = 0;
  };
  std::vector<MemberSlot> member_slots;  // per class of members
  std::uint32_t channels = 1;            // channel / channels is the class of pairs
};

/// `relations` and their workload must outlive it.
[[nodiscard]] Quotient make_quotient(const Relations& relations, const Partition& partition,
                                     const Network& network, const Workload& workload,
                                     NetworkModel model);

/// Route i for channels i * channels to (i + 1) * channels - 1, for every sender.
[[nodiscard]] std::shared_ptr<const Router> make_channel_router(std::vector<Route> routes,
                                                                std::uint32_t channels);

/// Removes slack links from the routes (drop_slack_links()). Completion times are unchanged; bytes
/// on the removed links are no longer counted.
void leave_out_slack_links(Quotient& quotient, NetworkModel model);

}  // namespace lockstep::fold
