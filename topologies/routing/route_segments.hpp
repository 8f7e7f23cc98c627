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

/// Where a node's NIC is cabled to: a switch of a plane.
struct FabricPort {
  std::size_t plane = 0;
  VertexId leaf = 0;  // of the plane

  friend bool operator==(const FabricPort&, const FabricPort&) = default;
};

/// What the routes of a cluster are put together from: segments inside a node, between a place and
/// the fabric, and across a plane of it. Each verb appends to `route`, numbers links as the cluster
/// does, lets `hash` draw for ecmp, and returns false where there is no way; links that have failed
/// are not used, latencies are those that the cluster was built with. Thread-safe. Internal.
class RouteSegments {
 public:
  RouteSegments(const Cluster& cluster, RoutePolicy policy);

  /// Between two places of a node (GPUs, then CPUs).
  bool between(std::size_t copy, std::size_t from, std::size_t to, std::uint64_t hash,
               Route& route) const;
  /// Between two vertices of a node.
  bool inside(std::size_t copy, VertexId from, VertexId to, std::uint64_t hash, Route& route) const;

  /// The switch at which a place's way out on that rail ends, or its way in begins.
  [[nodiscard]] std::optional<FabricPort> exit(std::size_t copy, std::size_t place, int rail) const;
  [[nodiscard]] std::optional<FabricPort> entry(std::size_t copy, std::size_t place,
                                                int rail) const;
  /// From a place out of its NIC on that rail to the switch.
  bool leave(std::size_t copy, std::size_t place, int rail, std::uint64_t hash, Route& route) const;
  /// From the switch over its NIC on that rail into a place.
  bool arrive(std::size_t copy, std::size_t place, int rail, std::uint64_t hash,
              Route& route) const;
  /// Between two switches of a plane.
  bool across(std::size_t plane, VertexId from, VertexId to, std::uint64_t hash,
              Route& route) const;

  /// How long the ways between two places of a node, or two switches of a plane, are.
  [[nodiscard]] std::optional<RouteLength> length_inside(std::size_t copy, std::size_t from,
                                                         std::size_t to) const {
    return view(copy).graph->length(vertex_of(from), vertex_of(to));
  }
  [[nodiscard]] std::optional<RouteLength> length_across(std::size_t plane, VertexId from,
                                                         VertexId to) const {
    return plane_graph(plane).length(from, to);
  }
  /// Whether the segments inside the node are held, rather than searched when asked for.
  [[nodiscard]] bool has_tables(std::size_t copy) const { return view(copy).tables.has_value(); }

  /// The way between two switches in few words: of links that all routes cross together one alone,
  /// as long as none of the plane's has failed.
  bool outline(std::size_t plane, VertexId from, VertexId to, Route& route) const;
  /// The link that outlines name for this one.
  [[nodiscard]] LinkId stands_for(LinkId link) const;

  /// The tables of the node as it was built. Only where there is a fabric, or few places.
  [[nodiscard]] const NodeRoutes& tables() const { return *built_.tables; }

  /// Copies with the same number have lost the same links.
  [[nodiscard]] std::size_t failed_links(std::size_t copy) const;
  [[nodiscard]] const FabricPorts& ports() const { return ports_; }

 private:
  /// A node as it is now.
  struct View {
    std::unique_ptr<SearchGraph> own;  // nullptr: that of the node as it was built
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
  mutable std::optional<LinkBundles> bundles_;  // made when first asked for
  mutable SharedRouteCache outlines_;
};

}  // namespace lockstep
