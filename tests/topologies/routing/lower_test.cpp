#include "topologies/routing/lower.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/export.hpp"
#include "topologies/builders/build_cluster.hpp"

namespace lockstep {
namespace {

TEST_CASE("lowering keeps ids, figures and ports of every link") {
  const Cluster cluster = build_cluster(hgx("dgx_a100"), rails(), nodes(3));
  const Network network = lower(cluster, Endpoint{2_us, 100_GBps});
  REQUIRE(network.links.size() == cluster.link_count());
  REQUIRE(network.endpoints.size() == static_cast<std::size_t>(cluster.endpoints()));
  CHECK(network.endpoints.back().message_overhead == 2_us);
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    const auto touches = [&](VertexKind kind) {
      return cluster.vertex(link.from).kind == kind || cluster.vertex(link.to).kind == kind;
    };
    CHECK(network.links[id].bandwidth == link.figures.carried());
    CHECK(network.links[id].latency == link.figures.latency);
    CHECK(network.links[id].port == (touches(VertexKind::gpu) || touches(VertexKind::nic)));
  }
}

TEST_CASE("what a link carries is its bandwidth times its efficiency") {
  LinkFigures figures = link_of(450_GBps, 300_ns);
  figures.efficiency = 0.824;
  const Cluster ring = build_cluster(call("ring", {{"link", figures}}), std::nullopt, ranks(3));
  // 18 x 20.6 GB/s = 370.8 GB/s
  CHECK(lower(ring).links[0].bandwidth == Rate::bytes_per_second(370'800'000'000));
}

TEST_CASE("DOT and GraphML carry kinds and figures") {
  const Cluster star =
      build_cluster(call("star", {{"link", link_of(400_Gbps, 1_us)}}), std::nullopt, ranks(2));
  std::ostringstream dot;
  write_dot(star, dot);
  CHECK(dot.str().find("digraph G {\n0 [kind=gpu, label=gpu0, node=0, rail=0];\n") == 0);
  CHECK(dot.str().find(
            "2->1  [bandwidth=\"50 GB/s\", bandwidth_Bps=50000000000, carries_Bps=50000000000, "
            "efficiency=1, "
            "kind=network, latency_s=\"1e-06\"];") != std::string::npos);
  std::ostringstream graphml;
  write_graphml(star, graphml);
  CHECK(graphml.str().find("<edge id=\"e3\" source=\"n2\" target=\"n1\">") != std::string::npos);
  CHECK(graphml.str().find("<data key=\"key0\">50 GB/s</data>") != std::string::npos);
}

}  // namespace
}  // namespace lockstep
