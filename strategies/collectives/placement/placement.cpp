#include "strategies/collectives/placement/placement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/base/check.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

using Members = std::vector<EndpointId>;

std::vector<int> runs_of(const Cluster& cluster, std::span<const EndpointId> members) {
  std::vector<int> runs;
  int node = -1;
  for (const EndpointId member : members) {
    const int own = node_of(cluster, member);
    if (own != node) runs.push_back(0);
    ++runs.back();
    node = own;
  }
  const bool equal = std::set<int>(runs.begin(), runs.end()).size() == 1;
  if (equal) runs.resize(1);
  return runs;
}

EndpointId node_further(const Cluster& cluster, std::span<const EndpointId> members) {
  const int own = node_of(cluster, members.front());
  const auto other = std::ranges::find_if(
      members, [&](EndpointId member) { return node_of(cluster, member) != own; });
  if (other != members.end()) return *other;
  return members[members.size() > 1 ? 1 : 0];
}

}  // namespace

MemberPlacement placement_of(const Cluster& cluster, std::span<const EndpointId> members) {
  LOCKSTEP_CHECK(!members.empty());
  std::map<int, Members> nodes;
  for (const EndpointId member : members) nodes[node_of(cluster, member)].push_back(member);
  MemberPlacement out;
  out.ranks = static_cast<int>(members.size());
  out.nodes = static_cast<int>(nodes.size());
  out.runs = runs_of(cluster, members);
  out.first = members.front();
  out.node_further = node_further(cluster, members);
  const auto fuller = [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  };
  const auto fullest = std::max_element(nodes.begin(), nodes.end(), fuller);
  const auto least = std::min_element(nodes.begin(), nodes.end(), fuller);
  out.equal_nodes = fullest->second.size() == least->second.size();
  out.most_per_node = static_cast<int>(fullest->second.size());
  if (nodes.size() > 1) {
    const auto after = std::next(fullest);
    out.next = after == nodes.end() ? nodes.begin()->second : after->second;
  }
  out.fullest = std::move(fullest->second);
  return out;
}

MemberPlacement placement_of(const Cluster& cluster) {
  // Equal nodes show in the first two.
  const int shown = has_equal_nodes(cluster)
                        ? std::min(2 * ranks_of_node(cluster, 0), cluster.ranks())
                        : cluster.ranks();
  Members members;
  for (int rank = 0; rank < shown; ++rank) members.push_back(static_cast<EndpointId>(rank));
  MemberPlacement out = placement_of(cluster, members);
  out.ranks = cluster.ranks();
  out.nodes = cluster.nodes();
  return out;
}

RankLayout layout_of(const MemberPlacement& placement) {
  RankLayout out;
  out.per_node = placement.per_node();
  if (placement.runs.size() > 1) out.node_sizes = placement.runs;
  return out;
}

std::optional<AlphaBeta> hop_of(const Network& network, const MemberPlacement& placement) {
  if (placement.ranks < 2) return std::nullopt;
  Route route;
  if (!network.router->route(placement.first, placement.node_further, route) || route.hops.empty())
    return std::nullopt;
  std::optional<Rate> slowest;
  for (const Hop& hop : route.hops) {
    const Rate rate = network.links[hop.link].bandwidth.scaled(static_cast<double>(kWeightUnit) /
                                                               static_cast<double>(hop.weight));
    if (!slowest || rate < *slowest) slowest = rate;
  }
  const Endpoint& sender = network.endpoints[placement.first];
  return AlphaBeta{route.latency + sender.message_overhead, *slowest, sender.reduce_rate};
}

}  // namespace lockstep
