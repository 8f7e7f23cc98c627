#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/cluster.hpp"
#include "topologies/routing/routing.hpp"

/// Words for tests that build clusters.
namespace lockstep {

/// 25 GB/s, 1 us.
inline LinkFigures plain_link() {
  return {Rate::bytes_per_second(25'000'000'000), Duration::picoseconds(1'000'000), 1.0};
}

inline LinkFigures link_of(Rate bandwidth, Duration latency) {
  return {bandwidth, latency, 1.0};
}

using Values = std::initializer_list<std::pair<std::string, Parameters::Value>>;

inline BuilderCall call(std::string_view builder, Values values) {
  BuilderCall made{find_topology_builder(builder), {}};
  for (const auto& [name, value] : values) made.parameters.set(name, value);
  return made;
}

inline ClusterSize ranks(int count) {
  return {std::nullopt, count, 0};
}

inline ClusterSize nodes(int count) {
  return {count, std::nullopt, 0};
}

/// One whose only parameter is its link.
inline Cluster direct(std::string_view builder, int count) {
  return build_cluster(call(builder, {{"link", plain_link()}}), std::nullopt, ranks(count));
}

/// NVLink 450 GB/s, 300 ns; PCIe 64 GB/s, 500 ns; sockets 48 GB/s, 600 ns.
inline BuilderCall hgx(std::string_view builder) {
  return call(builder, {{"nvlink", link_of(450_GBps, 300_ns)},
                        {"pcie", link_of(64_GBps, 500_ns)},
                        {"cpu", link_of(48_GBps, 600_ns)}});
}

/// 50 GB/s, 1 us.
inline BuilderCall rails() {
  return call("rail_optimised", {{"link", link_of(50_GBps, 1_us)}});
}

inline Route route_of(const Router& router, int from, int to) {
  Route route;
  if (!router.route(static_cast<EndpointId>(from), static_cast<EndpointId>(to), route)) {
    route.paths = 0;
  }
  return route;
}

/// The route's vertices in order of travel, "gpu0 gpu1 gpu2"; "none" where there is no way; for
/// one path.
inline std::string walk(const Cluster& cluster, const Route& route) {
  if (route.paths == 0) return "none";
  std::string text;
  for (const Hop& hop : route.hops) {
    const ClusterLink link = cluster.link(hop.link);
    if (text.empty()) text = cluster.vertex_name(link.from);
    text += " " + cluster.vertex_name(link.to);
  }
  return text;
}

}  // namespace lockstep
