#include "strategies/collectives/placement/placed_communicator.hpp"
#include "topologies/graph/nodes.hpp"

#include <numeric>
#include <utility>

namespace lockstep {
namespace {

/// Between ranks of one node, from the first to each other one; nodes are alike in both directions.
bool in_nvlink_domain(const Cluster& cluster, const Network& network,
                      const MemberPlacement& placement) {
  if (placement.nodes != 1) return false;
  Route route;
  for (const EndpointId member : placement.fullest) {
    if (member == placement.first) continue;
    if (!network.router->route(placement.first, member, route) || route.hops.empty()) return false;
    const VertexId to = cluster.vertex_of(member);
    for (const Hop& hop : route.hops) {
      const ClusterLink link = cluster.link(hop.link);
      const bool through_gpu = link.to != to && cluster.vertex(link.to).kind == VertexKind::gpu;
      if (link.kind != LinkKind::nvlink || through_gpu) return false;
    }
  }
  return true;
}

}  // namespace

PlacedCommunicator::PlacedCommunicator(const Cluster& cluster, const Network& network,
                                       const ReducingSwitches& switches,
                                       std::vector<EndpointId> ranks)
    : cluster_{&cluster},
      network_{&network},
      switches_{&switches},
      ranks_{std::move(ranks)},
      placement_{placement_of(cluster, *ranks_)},
      layout_{layout_of(placement_)},
      hop_{hop_of(network, placement_)} {
  layout_.nvlink_domain = in_nvlink_domain(cluster, network, placement_);
  switches.add_to(layout_, *ranks_);
}

PlacedCommunicator::PlacedCommunicator(const Cluster& cluster, const Network& network,
                                       const ReducingSwitches& switches)
    : cluster_{&cluster},
      network_{&network},
      switches_{&switches},
      placement_{placement_of(cluster)},
      layout_{layout_of(placement_)},
      hop_{hop_of(network, placement_)} {
  layout_.dimensions = cluster.dimensions();
  layout_.nvlink_domain = in_nvlink_domain(cluster, network, placement_);
  switches.add_to(layout_);
}

AlgorithmInput PlacedCommunicator::input(const AlgorithmArguments& arguments, int root,
                                         std::optional<Bytes> size) const {
  AlgorithmInput out;
  out.n = placement_.ranks;
  out.arguments = arguments;
  out.root = root;
  out.layout = layout_;
  out.size = size;
  out.hop = hop_;
  return out;
}

std::vector<EndpointId> PlacedCommunicator::ranks() const {
  if (ranks_) return *ranks_;
  std::vector<EndpointId> out(static_cast<std::size_t>(placement_.ranks));
  std::iota(out.begin(), out.end(), EndpointId{0});
  return out;
}

std::vector<EndpointId> PlacedCommunicator::members(AuxiliaryRanks auxiliary_ranks,
                                                    int count) const {
  std::vector<EndpointId> out = ranks();
  if (count == 0) return out;
  std::vector<EndpointId> others;
  if (auxiliary_ranks == AuxiliaryRanks::hosts) {
    others.resize(static_cast<std::size_t>(cluster_->auxiliary_ranks()));
    std::iota(others.begin(), others.end(), static_cast<EndpointId>(cluster_->ranks()));
  } else if (ranks_) {
    others = switches_->above(auxiliary_ranks, *ranks_).switches;
  } else {
    const auto all = switches_->endpoints(auxiliary_ranks);
    others.assign(all.begin(), all.end());
  }
  if (others.size() < static_cast<std::size_t>(count)) return {};
  out.insert(out.end(), others.begin(), others.begin() + count);
  return out;
}

}  // namespace lockstep
