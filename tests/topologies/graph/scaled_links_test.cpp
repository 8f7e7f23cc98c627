#include "topologies/graph/scaled_links.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/failures/link_changes.hpp"

/// Links of all of a cluster with other figures.
namespace lockstep {
namespace {

LinkKindFactors factors_of(LinkKind kind, LinkFactors factors) {
  LinkKindFactors out{};
  out.at(static_cast<std::size_t>(kind)) = factors;
  return out;
}

TEST_CASE("every link of a kind gets its factors, all else is as it was") {
  for (const char* builder : {"dgx_h100", "dgx1"}) {
    const Cluster built = build_cluster(hgx(builder), rails(), nodes(4));
    for (std::size_t i = 0; i < kLinkKindNames.size(); ++i) {
      const auto kind = static_cast<LinkKind>(i);
      CAPTURE(builder);
      CAPTURE(to_string(kind));
      const Cluster changed = with_scaled_links(built, factors_of(kind, {0.5, 3}));
      REQUIRE(changed.link_count() == built.link_count());
      std::size_t links = 0;
      for (LinkId id = 0; id < built.link_count(); ++id) {
        const ClusterLink before = built.link(id);
        const ClusterLink after = changed.link(id);
        const bool scaled = before.kind == kind;
        CHECK(after.from == before.from);
        CHECK(after.to == before.to);
        CHECK(after.figures.bandwidth == before.figures.bandwidth.scaled(scaled ? 0.5 : 1));
        CHECK(after.figures.efficiency == before.figures.efficiency);
        CHECK(after.figures.provenance ==
              (scaled ? Provenance::assumed : before.figures.provenance));
        CHECK(after.figures.latency.ps() == before.figures.latency.ps() * (scaled ? 3 : 1));
        links += scaled ? 1 : 0;
      }
      CHECK(links > 0);
    }
  }
}

// The oracle is a cluster that is built of such links.
TEST_CASE("routes are those of a cluster built of the other links") {
  const Cluster built = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  const Cluster changed = with_scaled_links(built, factors_of(LinkKind::network, {2, 0.5}));
  const Cluster rebuilt = build_cluster(
      hgx("dgx_h100"), call("rail_optimised", {{"link", link_of(100_GBps, 500_ns)}}), nodes(2));
  for (const int to : {1, 8, 9, 15}) {
    const Route a = route_of(*make_router(changed), 0, to);
    const Route b = route_of(*make_router(rebuilt), 0, to);
    CHECK(a.latency == b.latency);
    CHECK(a.hops.size() == b.hops.size());
  }
}

TEST_CASE("changed links are scaled and failed ones stay failed") {
  const Cluster built = build_cluster(hgx("dgx_h100"), rails(), nodes(2));
  std::vector<LinkState> states{{0, built.link(0).figures, true, false},
                                {2, link_of(1_GBps, 4_us), false, true}};
  const LinkKind kind = built.link(2).kind;
  const Cluster changed =
      with_scaled_links(built.with(LinkOverlay{std::move(states)}), factors_of(kind, {3, 2}));
  CHECK(changed.has_failed(0));
  CHECK(changed.link(2).figures.bandwidth == 3_GBps);
  CHECK(changed.link(2).figures.latency == 8_us);
}

TEST_CASE("no factor leads beyond what rates and latencies can be") {
  CHECK(scaled_rate(50_GBps, 1e30) == Rate::from_steps(Rate::kMaxSteps));
  CHECK(scaled_rate(50_GBps, 1e-30) == Rate::from_steps(1));
  CHECK(scaled_latency(1_us, 1e30).seconds() == 1);
  CHECK(scaled_latency(1_us, 1e-30) == Duration{});
}

}  // namespace
}  // namespace lockstep
