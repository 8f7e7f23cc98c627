#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/network.hpp"
#include "strategies/collectives/registry.hpp"
#include "strategies/collectives/spec.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "topologies/cluster.hpp"
#include "topologies/config/device.hpp"

namespace lockstep {

/// A collective ready to be played by its members.
struct ChosenCollective {
  SchedulePtr schedule;
  Bytes block;
  Duration launch;   // before the first byte
  std::string text;  // "ring:channels=8"
};

/// Which algorithm the collectives of a training step get: the one that the scenario names for the
/// group where the collective has it, else what NCCL's tuning model picks for so many ranks on so
/// many nodes, else a ring, or all at once. Keeps what it has made.
class CollectiveChoice {
 public:
  /// `algorithms`: by group (tp, dp, ...), as in `ring:channels=2`. The cluster and the network
  /// must outlive it.
  CollectiveChoice(const Cluster& cluster, const Network& network, const Device& device,
                   NcclTuning tuning, std::map<std::string, std::string> algorithms);

  /// `members` play the ranks; a root that is a host stands last. `message`: as contracts count it.
  [[nodiscard]] const ChosenCollective& choose(Collective collective, const std::string& group,
                                               const std::vector<EndpointId>& members, int root,
                                               bool host, Bytes message);
  /// "tp: all_reduce of 64 MiB among 8 by ring:channels=8", one line each, in order of first use.
  [[nodiscard]] const std::vector<std::string>& report() const { return report_; }

 private:
  struct Key;
  [[nodiscard]] ChosenCollective make(Collective collective, const std::string& group,
                                      const std::vector<EndpointId>& members, int root, bool host,
                                      Bytes message);
  [[nodiscard]] AlgorithmSpec named(Collective collective, const std::string& group) const;
  [[nodiscard]] AlgorithmSpec fallback(Collective collective, bool host,
                                       const NcclFacts& facts) const;
  [[nodiscard]] AlgorithmInput input(const std::vector<EndpointId>& members, int root,
                                     const AlgorithmArguments& arguments, Bytes message) const;
  [[nodiscard]] int per_node(const std::vector<EndpointId>& members) const;
  /// All GPUs of one node, in their order.
  [[nodiscard]] bool is_whole_node(const std::vector<EndpointId>& members) const;
  [[nodiscard]] NcclFacts facts(const std::vector<EndpointId>& members) const;

  const Cluster& cluster_;
  const Network& network_;
  NcclTuning tuning_;
  NcclFacts facts_;
  std::map<std::string, std::string> algorithms_;
  std::vector<std::vector<int>> node_rings_;  // of any of the nodes
  std::map<std::string, ChosenCollective> made_;
  std::vector<std::string> report_;
};

}  // namespace lockstep
