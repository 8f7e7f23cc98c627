#include "topologies/graph/gpu_links.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr double kMostLatency = 1e12;  // ps, as in a file: no path overflows

bool joins_gpus(const Vertex& vertex) {
  return vertex.kind == VertexKind::gpu || vertex.kind == VertexKind::nvswitch;
}

/// Bandwidths are given by what is carried, so the efficiency is then in them.
LinkFigures scaled(const LinkFigures& figures, const GpuLinkFactors& factors) {
  const double steps = static_cast<double>(figures.carried().steps()) * factors.bandwidth;
  const double most = static_cast<double>(Rate::kMaxSteps);
  const double latency = static_cast<double>(figures.latency.ps()) * factors.latency;
  return {
      Rate::from_steps(static_cast<std::uint64_t>(std::clamp(std::nearbyint(steps), 1.0, most))),
      Duration::picoseconds(std::llround(std::min(latency, kMostLatency))), 1};
}

}  // namespace

Cluster with_gpu_links(const Cluster& cluster, const GpuLinkFactors& factors) {
  std::vector<LinkState> states;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const LinkState* before = cluster.overlay().find(id);
    const ClusterLink built = cluster.built_link(id);
    const bool between = built.kind == LinkKind::nvlink && joins_gpus(cluster.vertex(built.from)) &&
                         joins_gpus(cluster.vertex(built.to));
    if (!between && before == nullptr) continue;
    LinkState state = before != nullptr ? *before : LinkState{id, built.figures, false, false};
    if (between && !state.failed) {
      state.figures = scaled(state.figures, factors);
      state.delayed = state.figures.latency != built.figures.latency;
    }
    states.push_back(std::move(state));
  }
  return cluster.with(LinkOverlay{std::move(states)});
}

}  // namespace lockstep
