#include "topologies/graph/gpu_links.hpp"

#include <doctest/doctest.h>

#include <array>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/link_changes.hpp"

/// NVLinks of all nodes with other figures.
namespace lockstep {
namespace {

constexpr GpuLinkFactors kFactors{0.5, 3};

bool is_between_gpus(const Cluster& cluster, const ClusterLink& link) {
  const auto joins = [&](VertexId end) {
    const VertexKind kind = cluster.vertex(end).kind;
    return kind == VertexKind::gpu || kind == VertexKind::nvswitch;
  };
  return link.kind == LinkKind::nvlink && joins(link.from) && joins(link.to);
}

TEST_CASE("NVLinks between GPUs get their factors in every node, all else is as it was") {
  for (const char* builder : {"dgx_h100", "dgx1"}) {
    CAPTURE(builder);
    const Cluster built = build_cluster(hgx(builder), rails(), nodes(4));
    const Cluster changed = with_gpu_links(built, kFactors);
    REQUIRE(changed.link_count() == built.link_count());
    std::size_t links = 0;
    for (LinkId id = 0; id < built.link_count(); ++id) {
      const ClusterLink before = built.link(id);
      const ClusterLink after = changed.link(id);
      const bool factors = is_between_gpus(built, before);
      CHECK(after.figures.carried() == before.figures.carried().scaled(factors ? 0.5 : 1));
      CHECK(after.figures.latency.ps() == before.figures.latency.ps() * (factors ? 3 : 1));
      links += factors ? 1 : 0;
    }
    CHECK(links > 4U * 8U);
  }
}

TEST_CASE("routes know the latencies that NVLinks have now") {
  const Cluster built = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  const Cluster changed = with_gpu_links(built, kFactors);
  // Two NVLinks of 300 ns.
  CHECK(route_of(*make_router(built), 9, 12).latency == 600_ns);
  CHECK(route_of(*make_router(changed), 9, 12).latency == 1800_ns);
}

/// GPUs under one PCIe switch are two hops apart by either: NVLinks that take longer stay the way.
TEST_CASE("NVLinks that take longer are still the way") {
  const Cluster built = build_cluster(hgx("dgx_a100"), std::nullopt, nodes(1));
  const Cluster changed = with_gpu_links(built, {1, 10});
  const Route before = route_of(*make_router(built), 0, 1);
  const Route after = route_of(*make_router(changed), 0, 1);
  CHECK(walk(changed, after) == walk(built, before));
  CHECK(after.latency == 6_us);
}

TEST_CASE("a link that has failed stays so") {
  const Cluster built = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  LinkChange failed;
  failed.links = "node0/nic0";
  failed.failed = true;
  const Cluster damaged = change_links(built, std::array{failed}).cluster;
  CHECK(with_gpu_links(damaged, kFactors).overlay().any_failed());
}

}  // namespace
}  // namespace lockstep
