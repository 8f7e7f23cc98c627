#include "tools/app/collective/setup/collective_setup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/in_network/lower_with_switches.hpp"

namespace lockstep::app {

namespace {

/// Whole messages are not divided: they take one of the equal paths each.
RoutePolicy policy_for(NetworkModel model, RoutePolicy asked) {
  return model == NetworkModel::queue && asked == RoutePolicy::automatic ? RoutePolicy::ecmp
                                                                         : asked;
}

}  // namespace

CollectiveSetup::CollectiveSetup(const ClusterRequest& options, const NetworkRequest& network,
                                 Wants wants)
    : loaded_{options.load()},
      seed_{options.seed},
      model_{network.parsed()},
      policy_{policy_for(model_, options.policy())},
      network_name_{network.model} {
  // Nodes have CPU sockets that can serve; if there are too few, hosts are added.
  if (loaded_.cluster.auxiliary_ranks() < wants.hosts) loaded_ = options.load(wants.hosts);
  prepare(network.protocol, wants.switches);
}

CollectiveSetup::CollectiveSetup(LoadedCluster loaded, const NetworkRequest& network, bool switches)
    : loaded_{std::move(loaded)},
      model_{network.parsed()},
      policy_{policy_for(model_, ClusterRequest{}.policy())},
      network_name_{network.model} {
  prepare(network.protocol, switches);
}

void CollectiveSetup::prepare(const std::string& protocol, bool switches) {
  if (!protocol.empty()) protocol_ = load_named_protocol(protocol);
  if (switches) switches_ = ReducingSwitches{cluster(), nvswitch_reduces(loaded_.device)};
  network_ = lowered(protocol_);
  communicator_.emplace(cluster(), network_, switches_);
}

Network CollectiveSetup::lowered(const std::optional<Protocol>& protocol) const {
  Network out = lower_with_switches(cluster(), switches_.forests(), loaded_.device.endpoint(),
                                    policy_, seed_);
  if (protocol) apply(*protocol, cluster(), out);
  return out;
}

std::string CollectiveSetup::unreachable(const PlacedCommunicator& by,
                                         AuxiliaryRanks auxiliary_ranks, int count) const {
  if (count == 0 || !cluster().overlay().any_failed()) return {};
  const std::vector<EndpointId> all = by.members(auxiliary_ranks, count);
  const auto size = static_cast<int>(std::ssize(all));
  const int ranks = size - count;
  Route route;
  const auto meet = [&](int a, int b) {
    const EndpointId one = all[static_cast<std::size_t>(a)];
    const EndpointId other = all[static_cast<std::size_t>(b)];
    return network_.router->route(one, other, route) && network_.router->route(other, one, route);
  };
  const bool hosts = auxiliary_ranks == AuxiliaryRanks::hosts;
  const auto text = [&](int rank, int auxiliary) {
    return fmt::format(
        "no route is left between {} {} and {} {}", rank < ranks ? "rank" : "switch",
        rank < ranks ? static_cast<int>(all[static_cast<std::size_t>(rank)]) : rank - ranks,
        hosts ? "host" : "switch", auxiliary - ranks);
  };
  if (hosts) {
    for (int auxiliary = ranks; auxiliary < size; ++auxiliary)
      for (int rank = 0; rank < ranks; ++rank)
        if (!meet(rank, auxiliary)) return text(rank, auxiliary);
    return {};
  }
  // Switches of the nodes come after those of the fabric.
  const auto check = [&](const std::vector<int>& above, int before) {
    for (int below = 0; below < std::min(size, static_cast<int>(std::ssize(above))); ++below) {
      const int parent = above[static_cast<std::size_t>(below)];
      if (parent >= 0 && parent + before < size && !meet(below, parent + before))
        return text(below, parent + before);
    }
    return std::string{};
  };
  const RankLayout& layout = by.layout();
  if (auxiliary_ranks == AuxiliaryRanks::node_switches) return check(layout.node_switches, 0);
  std::string problem = check(layout.fabric_switches, 0);
  const int in_fabric = static_cast<int>(std::ssize(layout.fabric_switches)) - ranks;
  return problem.empty() && count > in_fabric ? check(layout.node_switches, in_fabric) : problem;
}

SetupNames CollectiveSetup::names() const {
  return {ranks(),
          loaded_.name,
          loaded_.device.id,
          network_name_,
          std::string{kRoutePolicyNames.at(static_cast<std::size_t>(policy_))},
          protocol_ ? protocol_->id : ""};
}

}  // namespace lockstep::app
