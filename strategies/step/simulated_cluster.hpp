#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "sim/network/network.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "strategies/step/simulate.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// What all training steps on a cluster of `device`s have in common: switches that reduce, the
/// network, NCCL's tuning. Never changes: simulators of several threads may share it.
class SimulatedCluster {
 public:
  /// Cluster and device must outlive it. Of the options those count that name a network model, a
  /// tuning and costs of collectives.
  SimulatedCluster(const Cluster& cluster, const Device& device, const SimulationOptions& options);

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Device& device() const { return device_; }
  /// `in_fabric`: with the switches of the fabric that reduce (uses_fabric_switches()).
  [[nodiscard]] const ReducingSwitches& switches(bool in_fabric) const {
    return in_fabric ? in_fabric_ : in_nodes_;
  }
  [[nodiscard]] const NcclTuning& tuning() const { return tuning_; }
  [[nodiscard]] NetworkModel model() const { return model_; }
  /// As programs with or without hosts see it, lowered with these switches; made when it is first
  /// asked for.
  [[nodiscard]] const Network& network(bool has_hosts, bool in_fabric) const;

 private:
  /// One network, made by the first thread that asks for it.
  struct Lowered {
    std::once_flag once;
    std::optional<Network> network;
  };

  const Cluster& cluster_;
  const Device& device_;
  NetworkModel model_;
  ReducingSwitches in_nodes_;
  ReducingSwitches in_fabric_;  // besides those in nodes
  NcclTuning tuning_;
  mutable std::array<Lowered, 4> lowered_;  // by has_hosts + 2 * in_fabric
};

}  // namespace lockstep
