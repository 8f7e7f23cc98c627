#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/network.hpp"
#include "sim/symmetry/reuse/key.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/nccl/nccl_communicator.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A collective ready to be played by its members, and by switches that reduce for them where its
/// schedule has more ranks.
struct ChosenCollective {
  SchedulePtr schedule;
  Bytes block;
  Duration launch;   // before the first byte
  std::string text;  // "ring:channels=8"
};

/// Which algorithm the collectives of a training step get: the one that the scenario names for the
/// group where the collective has it, else what NCCL's tuning model picks for the group, as
/// `collective --algorithm auto` prints it, else a ring, or all at once. Keeps what it has made.
class CollectiveChoice {
 public:
  /// `algorithms`: by group (tp, dp, ...), as in `ring:channels=2`. `network`: the cluster lowered
  /// with these switches; the three must outlive it. `model`: chunks are counted out by.
  CollectiveChoice(const Cluster& cluster, const Network& network, const ReducingSwitches& switches,
                   const Device& device, NcclTuning tuning,
                   std::map<std::string, std::string> algorithms,
                   NetworkModel model = NetworkModel::fluid);

  /// `members` play the ranks; a root that is a host stands last. `message`: as contracts count it.
  [[nodiscard]] const ChosenCollective& choose(Collective collective, const std::string& group,
                                               const std::vector<EndpointId>& members, int root,
                                               bool host, Bytes message);
  /// Who plays the chosen schedule for such members: they, then the switches that reduce for them.
  [[nodiscard]] std::vector<EndpointId> players(const ChosenCollective& chosen,
                                                std::vector<EndpointId> members) const;
  /// "tp: all_reduce of 64 MiB among 8 by ring:channels=8", one line each, in order of first use.
  [[nodiscard]] const std::vector<std::string>& report() const { return report_; }

 private:
  struct Call {
    Collective collective;
    const std::string& group;
    int root;
    bool host;
    Bytes message;
  };
  [[nodiscard]] const NcclCommunicator& communicator(const std::vector<EndpointId>& ranks);
  [[nodiscard]] fold::Key shape_of(const std::vector<EndpointId>& ranks) const;
  [[nodiscard]] const ChosenCollective& make(const Call& call,
                                             const std::vector<EndpointId>& members);
  [[nodiscard]] AlgorithmSpec named(Collective collective, const std::string& group) const;
  [[nodiscard]] AlgorithmSpec fallback(const Call& call, const NcclFacts& facts) const;
  [[nodiscard]] AlgorithmInput input_with_host(const NcclCommunicator& ranks,
                                               const std::vector<EndpointId>& members) const;

  const Cluster& cluster_;
  const Network& network_;
  const ReducingSwitches& switches_;
  Device device_;
  NcclTuning tuning_;
  std::map<std::string, std::string> algorithms_;
  NetworkModel model_;
  std::map<fold::Key, NcclCommunicator> communicators_;
  std::map<fold::Key, const ChosenCollective*> known_;  // by group, where its ranks sit, and call
  std::map<std::string, ChosenCollective> made_;        // by all that a schedule follows from
  std::vector<std::string> report_;
};

}  // namespace lockstep
