#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "topologies/graph/link_bundles.hpp"
#include "topologies/routing/failed_links.hpp"
#include "topologies/routing/search_graph.hpp"

namespace lockstep {

/// The switch of a plane to which a node's NIC is connected.
struct FabricPort {
  std::size_t plane = 0;
  VertexId leaf = 0;  // of the plane

  friend bool operator==(const FabricPort&, const FabricPort&) = default;
};

/// Segments of a cluster's routes: inside a node, between a place and the fabric, and across a
/// plane. Each function appends to `route` with the cluster's link ids, uses `hash` for ecmp, and
/// returns false if there is no path. Failed links are not used; latencies are the original ones.
/// Thread-safe. Internal.
class RouteSegments {
 public:
  RouteSegments(const Cluster& cluster, RoutePolicy policy);

  /// Between two places of a node (GPUs, then CPUs).
  bool between(std::size_t copy, std::size_t from, std::size_t to, std::uint64_t hash,
               Route& route) const;
  /// Between two vertices of a node.
  bool inside(std::size_t copy, VertexId from, VertexId to, std::uint64_t hash, Route& route) const;

  /// The switch at which a place's egress on that rail ends, or its ingress starts.
  [[nodiscard]] std::optional<FabricPort> exit(std::size_t copy, std::size_t place, int rail) const;
  [[nodiscard]] std::optional<FabricPort> entry(std::size_t copy, std::size_t place,
                                                int rail) const;
  /// Egress: from a place through its NIC on that rail to the switch.
  bool leave(std::size_t copy, std::size_t place, int rail, std::uint64_t hash, Route& route) const;
  /// Ingress: from the switch through the NIC on that rail to a place.
  bool arrive(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
              Route& route) const;
  /// Between two switches of a plane.
  bool across(std::size_t plane, VertexId from, VertexId to, std::uint64_t hash,
              Route& route) const;

  /// Length of the paths between two places of a node, or two switches of a plane.
  [[nodiscard]] std::optional<RouteLength> length_inside(std::size_t copy, std::size_t from,
                                                         std::size_t to) const {
    return view(copy).graph->length(vertex_of(from), vertex_of(to));
  }
  [[nodiscard]] std::optional<RouteLength> length_across(std::size_t plane, VertexId from,
                                                         VertexId to) const {
    return plane_graph(plane).length(from, to);
  }
  /// Whether the segments inside the node are stored instead of searched on demand.
  [[nodiscard]] bool has_tables(std::size_t copy) const { return view(copy).tables.has_value(); }

  /// Whether no link between switches has failed.
  [[nodiscard]] bool planes_are_whole() const { return failed_planes_.empty(); }
  /// The path between two switches in compressed form: one representative per bundle of links. Only
  /// if planes_are_whole().
  bool outline(std::size_t plane, VertexId from, VertexId to, Route& route) const;
  /// The representative of this link in compressed routes.
  [[nodiscard]] LinkId stands_for(LinkId link) const;

  /// Tables of the original node. Requires a fabric, or few places.
  [[nodiscard]] const NodeRoutes& tables() const { return *built_.tables; }

  /// Copies with equal numbers have the same failures.
  [[nodiscard]] std::size_t failed_links(std::size_t copy) const;
  [[nodiscard]] const FabricPorts& ports() const { return ports_; }

 private:
  /// A node in its current state.
  struct View {
    std::unique_ptr<SearchGraph> own;  // nullptr: the original node's
    const SearchGraph* graph = nullptr;
    std::optional<NodeRoutes> tables;
  };
  void add_view(std::size_t copy, const NodeFailures& failed_links,
                std::map<NodeFailures, std::size_t>& known);
  [[nodiscard]] View make_view(const NodeFailures& failed_links) const;
  [[nodiscard]] const View& view(std::size_t copy) const;
  [[nodiscard]] const SearchGraph& plane_graph(std::size_t plane) const;
  [[nodiscard]] const LinkBundles& bundles() const;
  [[nodiscard]] LinkId first_link(std::size_t copy) const {
    return static_cast<LinkId>(copy * data_->node_links());
  }
  [[nodiscard]] VertexId vertex_of(std::size_t place) const {
    const std::size_t gpus = data_->gpus.size();
    return place < gpus ? data_->gpus[place] : data_->cpus[place - gpus];
  }

  std::shared_ptr<const ClusterData> data_;
  FabricPorts ports_;
  RoutePolicy policy_;
  SearchGraph node_;
  SearchGraph plane_;
  View built_;
  std::vector<View> failed_;
  std::unordered_map<std::size_t, std::size_t> failed_links_;  // by copy: 1 + index in damaged_
  std::map<std::size_t, SearchGraph> failed_planes_;
  mutable std::once_flag bundled_;
  mutable std::optional<LinkBundles> bundles_;  // created on first use
  mutable SharedRouteCache outlines_;
};

}  // namespace lockstep
