#include "topologies/analysis/analysis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "topologies/files/cluster_file.hpp"
#include "topologies/graph/link_overlay.hpp"
#include "topologies/routing/route_length.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

/// Every shipped cluster in a size of which all pairs can be looked at.
std::vector<std::pair<std::string, Cluster>> shipped_clusters() {
  const std::filesystem::path folder =
      std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "configs" / "clusters";
  std::vector<std::pair<std::string, Cluster>> out;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const std::string name = entry.path().stem();
    const Cluster own = load_cluster(entry.path()).cluster;
    if (own.ranks() <= 512) out.emplace_back(name, own);
    for (const int nodes : {3, 40}) {
      ClusterSize size;
      size.nodes = nodes;
      try {
        out.emplace_back(name, load_cluster(entry.path(), size).cluster);
      } catch (const std::exception&) {  // cannot be had in that size
      }
    }
  }
  REQUIRE(out.size() >= 19);  // one a file at the least
  return out;
}

}  // namespace

TEST_CASE("a census counts every vertex and every link once, by its kind") {
  auto clusters = shipped_clusters();
  ClusterSize hosts;
  hosts.ranks = 5;
  hosts.extra_hosts = 3;  // of the same copies as the ranks, but no GPUs
  const std::filesystem::path star =
      std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "configs" / "clusters" / "star.json";
  clusters.emplace_back("star with hosts", load_cluster(star, hosts).cluster);
  for (const auto& [name, cluster] : clusters) {
    CAPTURE(name);
    CAPTURE(cluster.ranks());
    Census counted;
    for (VertexId v = 0; v < cluster.vertex_count(); ++v)
      ++counted.vertices[static_cast<std::size_t>(cluster.vertex(v).kind)];
    for (LinkId id = 0; id < cluster.link_count(); ++id)
      ++counted.links[static_cast<std::size_t>(cluster.link(id).kind)];
    const Census census = take_census(cluster);
    CHECK(census.vertices == counted.vertices);
    CHECK(census.links == counted.links);
  }
}

TEST_CASE("the length of a route is that of the links it lists, whatever the policy") {
  for (const auto& [name, cluster] : shipped_clusters()) {
    for (const RoutePolicy policy :
         {RoutePolicy::automatic, RoutePolicy::ecmp, RoutePolicy::shortest}) {
      CAPTURE(name);
      CAPTURE(cluster.ranks());
      const auto router = make_router(cluster, policy, 7);
      const auto* lengths = dynamic_cast<const LengthRouter*>(router.get());
      REQUIRE(lengths != nullptr);
      Route route;
      bool equal = true;
      const int step = std::max(1, cluster.endpoints() / 64);
      for (int from = 0; from < cluster.endpoints(); from += step) {
        for (int to = 0; to < cluster.endpoints(); to += step) {
          const bool there =
              router->route(static_cast<EndpointId>(from), static_cast<EndpointId>(to), route);
          const auto length =
              lengths->length(static_cast<EndpointId>(from), static_cast<EndpointId>(to));
          equal =
              equal && there == length.has_value() &&
              (!there || (length->hops == path_length(route) && length->latency == route.latency));
        }
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("a route around a failed link is as long as the links it lists") {
  ClusterSize size;
  size.nodes = 4;
  const Cluster built = load_cluster(std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "configs" /
                                         "clusters" / "rail-optimised.json",
                                     size)
                            .cluster;
  LinkId uplink = 0;  // of node 0's first NIC
  while (built.link_name(uplink) != "node0/nic0 -> rail0/leaf0") ++uplink;
  LinkFigures figures = built.link(uplink).figures;
  figures.bandwidth = Rate::from_steps(1);
  const Cluster cluster = built.with(
      LinkOverlay{{{.id = uplink, .figures = figures, .failed = true, .delayed = false}}});
  const auto router = make_router(cluster);
  Route route;
  REQUIRE(router->route(0, 9, route));
  const auto length = dynamic_cast<const LengthRouter&>(*router).length(0, 9);
  REQUIRE(length.has_value());
  CHECK(length->hops == path_length(route));
  CHECK(length->latency == route.latency);
}

}  // namespace lockstep
