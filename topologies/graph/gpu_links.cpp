#include "topologies/graph/gpu_links.hpp"

#include <utility>
#include <vector>

#include "topologies/graph/scaled_links.hpp"

namespace lockstep {
namespace {

bool joins_gpus(const Vertex& vertex) {
  return vertex.kind == VertexKind::gpu || vertex.kind == VertexKind::nvswitch;
}

/// Bandwidths are given by what is carried, so the efficiency is then in them.
LinkFigures scaled(const LinkFigures& figures, const GpuLinkFactors& factors) {
  return {scaled_rate(figures.carried(), factors.bandwidth),
          scaled_latency(figures.latency, factors.latency), 1, Provenance::measured,
          Provenance::measured};
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
    states.push_back(state);
  }
  return cluster.with(LinkOverlay{std::move(states)});
}

}  // namespace lockstep
