#include "topologies/in_network/lower_with_switches.hpp"

#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "topologies/routing/delayed_router.hpp"
#include "topologies/routing/route_segments.hpp"

namespace lockstep {
namespace {

/// A forest's node as a router meets it.
struct TreeNode {
  std::size_t forest = 0;
  int index = 0;
};

class SwitchRouter final : public Router {
 public:
  SwitchRouter(const Cluster& cluster, std::span<const SwitchForest> forests, RoutePolicy policy,
               std::uint64_t seed, std::shared_ptr<const Router> others)
      : cluster_{cluster},
        forests_{forests.begin(), forests.end()},
        seed_{seed},
        stretches_{cluster, policy},
        others_{std::move(others)} {
    for (const SwitchForest& forest : forests_)
      for (const VertexId vertex : forest.vertices) in_nodes_ = in_nodes_ && !in_fabric(vertex);
  }

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    if (!is_switch(from) && !is_switch(to)) return others_->route(from, to, route);
    route.clear();
    if (from == to) return true;
    const auto [forest, known] = node_of(is_switch(to) ? to : from);
    const auto below = index_in(forest, from);
    const auto above = index_in(forest, to);
    if (!below || !above) return false;
    const std::vector<int>& parent = forests_[forest].parent;
    const std::uint64_t hash = route_hash(from, to, seed_);
    if (parent[*below] == static_cast<int>(*above)) return up(forest, *below, *above, hash, route);
    if (parent[*above] == static_cast<int>(*below)) {
      return down(forest, *below, *above, hash, route);
    }
    return false;
  }

  /// Routes to switches of the fabric cross some links of a bundle without the others.
  [[nodiscard]] bool has_outlines() const override { return in_nodes_ && others_->has_outlines(); }
  [[nodiscard]] bool outline(EndpointId from, EndpointId to, Route& route) const override {
    if (!in_nodes_ || is_switch(from) || is_switch(to)) return this->route(from, to, route);
    return others_->outline(from, to, route);
  }
  [[nodiscard]] LinkId stands_for(LinkId link) const override {
    return in_nodes_ ? others_->stands_for(link) : link;
  }

 private:
  [[nodiscard]] bool is_switch(EndpointId endpoint) const {
    return endpoint >= static_cast<EndpointId>(cluster_.endpoints());
  }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(cluster_.ranks()); }

  /// The forest that a switch belongs to, and which of its nodes it is.
  [[nodiscard]] TreeNode node_of(EndpointId endpoint) const {
    for (std::size_t f = 0; f < forests_.size(); ++f) {
      const auto& switches = forests_[f].switches;
      if (switches.empty() || endpoint > switches.back()) continue;
      return {f, cluster_.ranks() + static_cast<int>(endpoint - switches.front())};
    }
    LOCKSTEP_CHECK(false);
    return {};
  }

  /// Empty where the end point is not in that forest.
  [[nodiscard]] std::optional<std::size_t> index_in(std::size_t forest, EndpointId endpoint) const {
    if (endpoint < ranks()) return endpoint;
    if (!is_switch(endpoint)) return std::nullopt;
    const TreeNode node = node_of(endpoint);
    if (node.forest != forest) return std::nullopt;
    return static_cast<std::size_t>(node.index);
  }

  [[nodiscard]] VertexId vertex_of(std::size_t forest, std::size_t node) const {
    if (node < ranks()) return cluster_.vertex_of(static_cast<EndpointId>(node));
    return forests_[forest].vertices[node - ranks()];
  }

  bool up(std::size_t forest, std::size_t child, std::size_t parent, std::uint64_t hash,
          Route& route) const {
    const VertexId above = vertex_of(forest, parent);
    if (!in_fabric(above)) return in_node(vertex_of(forest, child), above, hash, route);
    if (child >= ranks()) return in_plane(vertex_of(forest, child), above, hash, route);
    const auto [copy, place] = place_of(cluster_.data(), static_cast<EndpointId>(child));
    return stretches_.leave(copy, place, stretches_.tables().rail_of(place), hash, route);
  }

  bool down(std::size_t forest, std::size_t parent, std::size_t child, std::uint64_t hash,
            Route& route) const {
    const VertexId above = vertex_of(forest, parent);
    if (!in_fabric(above)) return in_node(above, vertex_of(forest, child), hash, route);
    if (child >= ranks()) return in_plane(above, vertex_of(forest, child), hash, route);
    const auto [copy, place] = place_of(cluster_.data(), static_cast<EndpointId>(child));
    return stretches_.arrive(copy, place, stretches_.tables().rail_of(place), hash, route);
  }

  [[nodiscard]] bool in_fabric(VertexId vertex) const {
    return vertex >= cluster_.data().first_switch();
  }

  bool in_node(VertexId from, VertexId to, std::uint64_t hash, Route& route) const {
    const std::size_t vertices = cluster_.data().node_vertices();
    return stretches_.inside(from / vertices, static_cast<VertexId>(from % vertices),
                             static_cast<VertexId>(to % vertices), hash, route);
  }

  bool in_plane(VertexId from, VertexId to, std::uint64_t hash, Route& route) const {
    const std::size_t first = cluster_.data().first_switch();
    const std::size_t vertices = cluster_.data().plane_vertices();
    return stretches_.across((from - first) / vertices,
                             static_cast<VertexId>((from - first) % vertices),
                             static_cast<VertexId>((to - first) % vertices), hash, route);
  }

  Cluster cluster_;
  std::vector<SwitchForest> forests_;
  std::uint64_t seed_;
  RouteSegments stretches_;
  std::shared_ptr<const Router> others_;
  bool in_nodes_ = true;  // all switches that reduce
};

}  // namespace

Network lower_with_switches(const Cluster& cluster, std::span<const SwitchForest> forests,
                            const Endpoint& endpoint, RoutePolicy policy, std::uint64_t seed) {
  Network network = lower(cluster, endpoint, policy, seed);
  if (forests.empty()) return network;
  for (const SwitchForest& forest : forests) {
    for (const EndpointId id : forest.switches) {
      LOCKSTEP_CHECK(id == network.endpoints.size());
      network.endpoints.emplace_back();
    }
  }
  network.router = with_delays(
      cluster, std::make_shared<SwitchRouter>(cluster, forests, policy, seed, network.router));
  return network;
}

}  // namespace lockstep
