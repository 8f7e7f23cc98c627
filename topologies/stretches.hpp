#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topologies/fabric_ports.hpp"
#include "topologies/node_routes.hpp"
#include "topologies/search_graph.hpp"

namespace lockstep {

/// Where a node's NIC is cabled to: a switch of a plane.
struct FabricPort {
  std::size_t plane = 0;
  VertexId leaf = 0;  // of the plane

  friend bool operator==(const FabricPort&, const FabricPort&) = default;
};

/// What the routes of a cluster are put together from: stretches inside a node, between a place and
/// the fabric, and across a plane of it. Each verb appends to `route`, numbers links as the cluster
/// does, lets `hash` draw for ecmp, and returns false where there is no way. Thread-safe. Internal:
/// needs Boost.
class Stretches {
 public:
  Stretches(const Cluster& cluster, RoutePolicy policy);

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

  /// The tables of the node as it was built. Only where there is a fabric, or few places.
  [[nodiscard]] const NodeRoutes& tables() const { return *tables_; }

 private:
  [[nodiscard]] LinkId first_link(std::size_t copy) const {
    return static_cast<LinkId>(copy * data_->node_links());
  }
  [[nodiscard]] VertexId vertex_of(std::size_t place) const {
    const std::size_t gpus = data_->gpus.size();
    return place < gpus ? data_->gpus[place] : data_->cpus[place - gpus];
  }

  std::shared_ptr<const ClusterData> data_;
  FabricPorts ports_;
  SearchGraph node_;
  SearchGraph plane_;
  std::optional<NodeRoutes> tables_;
};

}  // namespace lockstep
