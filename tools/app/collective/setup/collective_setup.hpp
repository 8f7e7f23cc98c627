#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/collectives/placement/placed_communicator.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/inputs/network_request.hpp"
#include "topologies/files/protocol.hpp"

namespace lockstep::app {

/// What a setup consists of.
struct SetupNames {
  int ranks = 0;
  std::string cluster;
  std::string device;
  std::string network;     // "fluid"
  std::string routes;      // "auto"
  std::string protocol{};  // empty: none
};

/// A cluster prepared for collectives: its network, rank layout, and the endpoints of ranks without
/// data. Immutable and thread-safe.
class CollectiveSetup {
 public:
  struct Wants {
    int hosts = 0;          // additional hosts, such as parameter servers
    bool switches = false;  // reducing fabric switches
  };
  /// Throws as ClusterRequest::load() and load_named_protocol().
  CollectiveSetup(const ClusterRequest& options, const NetworkRequest& network, Wants wants);
  /// The same for a loaded cluster, without additional hosts; default routes.
  CollectiveSetup(LoadedCluster loaded, const NetworkRequest& network, bool switches);
  CollectiveSetup(const CollectiveSetup&) = delete;
  CollectiveSetup& operator=(const CollectiveSetup&) = delete;

  [[nodiscard]] const LoadedCluster& loaded() const { return loaded_; }
  [[nodiscard]] const Cluster& cluster() const { return loaded_.cluster; }
  [[nodiscard]] int ranks() const { return loaded_.cluster.ranks(); }
  [[nodiscard]] NetworkModel model() const { return model_; }
  [[nodiscard]] RoutePolicy policy() const { return policy_; }
  [[nodiscard]] const RankLayout& layout() const { return communicator_->layout(); }
  [[nodiscard]] const std::optional<Protocol>& protocol() const { return protocol_; }
  [[nodiscard]] const Network& network() const { return network_; }
  /// The same network without a protocol.
  [[nodiscard]] Network bare_network() const { return lowered(std::nullopt); }

  /// The communicator of all ranks. Refers to this setup, which must outlive it.
  [[nodiscard]] const PlacedCommunicator& communicator() const { return *communicator_; }
  /// The same on another network of this cluster, or of some of its ranks.
  [[nodiscard]] PlacedCommunicator communicator_on(const Network& network) const {
    return {cluster(), network, switches_};
  }
  [[nodiscard]] PlacedCommunicator communicator_of(std::vector<EndpointId> ranks) const {
    return {cluster(), network_, switches_, std::move(ranks)};
  }
  /// Input of an algorithm on all ranks of this cluster.
  [[nodiscard]] AlgorithmInput input(const AlgorithmArguments& arguments, int root,
                                     std::optional<Bytes> size) const {
    return communicator_->input(arguments, root, size);
  }
  /// Endpoints of the ranks, then of `count` auxiliary ranks. Empty if there are fewer.
  [[nodiscard]] std::vector<EndpointId> members(AuxiliaryRanks auxiliary_ranks, int count) const {
    return communicator_->members(auxiliary_ranks, count);
  }
  /// Why `count` auxiliary ranks cannot take part after link failures: the first two endpoints that
  /// must communicate and have no route. Empty if all have.
  [[nodiscard]] std::string unreachable(AuxiliaryRanks auxiliary_ranks, int count) const {
    return unreachable(communicator(), auxiliary_ranks, count);
  }
  /// Of a communicator of some ranks.
  [[nodiscard]] std::string unreachable(const PlacedCommunicator& by,
                                        AuxiliaryRanks auxiliary_ranks, int count) const;
  /// Names of links and endpoints, for busiest links and notes.
  [[nodiscard]] std::string link_name(LinkId link) const { return cluster().link_name(link); }
  [[nodiscard]] SetupNames names() const;

 private:
  [[nodiscard]] Network lowered(const std::optional<Protocol>& protocol) const;
  void prepare(const std::string& protocol, bool switches);

  LoadedCluster loaded_;
  std::uint64_t seed_ = 1;
  NetworkModel model_;
  RoutePolicy policy_;
  std::string network_name_;
  std::optional<Protocol> protocol_;
  ReducingSwitches switches_;
  Network network_;
  std::optional<PlacedCommunicator> communicator_;
};

}  // namespace lockstep::app
