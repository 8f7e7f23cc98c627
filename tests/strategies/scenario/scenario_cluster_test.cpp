#include <doctest/doctest.h>

#include <string>

#include "strategies/scenario/scenario.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/routing/routing.hpp"

/// Clusters in a few figures, as tables of measured runs give them.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

/// Every GPU has such products.
const std::string kFp16 = R"({"precision": "fp16"})";

Scenario read(const std::string& cluster, const std::string& parallel = kFp16) {
  const std::string text = R"({"cluster": )" + cluster +
                           R"(, "model": {"name": "m", "layers": 2, "hidden": 64, "heads": 4, )" +
                           R"("seq": 32}, "parallel": )" + parallel + "}";
  return read_scenario(parse_json(text, "s.json"), "s", {}, kConfigs);
}

Cluster cluster_of(const std::string& cluster) {
  return read(cluster).cluster.cluster;
}

std::string error_of(const std::string& cluster, const std::string& parallel = kFp16) {
  try {
    (void)read(cluster, parallel);
  } catch (const ConfigError& error) {
    return error.problems().front().pointer + ": " + error.problems().front().message;
  }
  return "accepted";
}

/// The first link of a kind from a vertex of a kind.
LinkFigures link_from(const Cluster& cluster, VertexKind from, LinkKind kind) {
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    const ClusterLink link = cluster.link(id);
    if (link.kind == kind && cluster.vertex(link.from).kind == from) return link.figures;
  }
  FAIL("no such link");
  return {};
}

int count_of(const Cluster& cluster, VertexKind kind) {
  int count = 0;
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) count += cluster.vertex(v).kind == kind;
  return count;
}

TEST_CASE("racks in a few figures have the NICs of the shipped rack of their GPU") {
  for (const auto& [gpu, gbps] :
       {std::pair{"gb200-nvl72", 400}, {"gb300-nvl72", 800}, {"rubin-nvl72", 1600}}) {
    CAPTURE(gpu);
    const Cluster racks = cluster_of(std::string{R"({"gpu": ")"} + gpu + R"(", "gpus": 144})");
    const LinkFigures nic = link_from(racks, VertexKind::nic, LinkKind::network);
    CHECK(nic.bandwidth == Rate::bytes_per_second(static_cast<std::uint64_t>(gbps) * 125'000'000));
  }
}

TEST_CASE("eight GPUs and NICs are the shipped node of that GPU") {
  const Cluster few = cluster_of(R"({"gpu": "h100-sxm5-80gb", "gpus": 16, "gpus_per_node": 8,
    "intra": "nvswitch", "nics_per_node": 8, "nic_gbps": 400, "fabric": "infiniband"})");
  const Cluster shipped = cluster_of(R"({"file": "dgx-h100", "nodes": 2})");
  REQUIRE(few.vertex_count() == shipped.vertex_count());
  REQUIRE(few.link_count() == shipped.link_count());
  for (LinkId id = 0; id < few.link_count(); ++id) {
    CHECK(few.link_name(id) == shipped.link_name(id));
    CHECK(few.link(id).figures.carried() == shipped.link(id).figures.carried());
    CHECK(few.link(id).figures.latency == shipped.link(id).figures.latency);
  }
}

TEST_CASE("EFA has the transport of the shipped cluster of that GPU, others have none") {
  const auto transport = [](const std::string& gpu, const std::string& fabric) {
    return transport_latency(
        cluster_of(R"({"gpu": ")" + gpu + R"(", "gpus": 16, "fabric": ")" + fabric + "\"}"));
  };
  const Duration p5 = transport_latency(cluster_of(R"({"file": "aws-p5", "nodes": 2})"));
  CHECK(p5 > 10_us);
  CHECK(p5 < 40_us);
  CHECK(transport("h100-sxm5-80gb", "efa") == p5);
  CHECK(transport("b200-sxm-180gb", "efa") ==
        transport_latency(cluster_of(R"({"file": "aws-p6-b200", "nodes": 2})")));
  CHECK(transport("h100-sxm5-80gb", "infiniband") == Duration{});
  CHECK(transport("h100-sxm5-80gb", "roce") == Duration{});
}

TEST_CASE("fewer NICs share a node's GPUs evenly, one rail each") {
  const Cluster cluster = cluster_of(R"({"gpu": "a100-sxm4-80gb", "gpus": 384, "gpus_per_node": 8,
    "nics_per_node": 4, "nic_gbps": 100, "fabric": "omnipath"})");
  CHECK(cluster.nodes() == 48);
  CHECK(cluster.gpus_per_node() == 8);
  CHECK(count_of(cluster, VertexKind::nic) == 48 * 4);
  CHECK(cluster.vertex(cluster.vertex_of(7)).rail == 3);  // 7 * 4 / 8
  const LinkFigures nic = link_from(cluster, VertexKind::nic, LinkKind::network);
  CHECK(nic.bandwidth == Rate::bytes_per_second(100'000'000'000 / 8));
  // NVLink 3: 12 links of 25 GB/s.
  const LinkFigures nvlink = link_from(cluster, VertexKind::gpu, LinkKind::nvlink);
  CHECK(nvlink.bandwidth == Rate::bytes_per_second(300'000'000'000));
}

TEST_CASE("sixteen V100 on NVSwitches take their latency from direct cables, halved") {
  // DGX-2: six links of 25 GB/s into the switches; configs/clusters/dgx1.json has 600 ns from GPU
  // to GPU.
  const Cluster cluster =
      cluster_of(R"({"gpu": "v100-sxm3-32gb", "gpus": 32, "gpus_per_node": 16})");
  CHECK(cluster.nodes() == 2);
  CHECK(cluster.gpus_per_node() == 16);
  const LinkFigures nvlink = link_from(cluster, VertexKind::gpu, LinkKind::nvlink);
  CHECK(nvlink.bandwidth == Rate::bytes_per_second(150'000'000'000));
  CHECK(nvlink.latency == 300_ns);
}

TEST_CASE("a mesh spreads a GPU's links over the others") {
  const Cluster cluster = cluster_of(
      R"({"gpu": "a100-sxm4-40gb", "gpus": 4, "gpus_per_node": 4, "intra": "nvlink-mesh"})");
  const LinkFigures nvlink = link_from(cluster, VertexKind::gpu, LinkKind::nvlink);
  CHECK(nvlink.bandwidth == Rate::bytes_per_second(100'000'000'000));  // 12 / 3 links of 25 GB/s
  CHECK(nvlink.latency == 600_ns);  // one cable for two of 300 ns through a switch
}

TEST_CASE("without NVLink GPUs meet over PCIe") {
  const Cluster cluster = cluster_of(
      R"({"gpu": "h100-pcie-80gb", "gpus": 8, "gpus_per_node": 4, "intra": "pcie",
          "nics_per_node": 1})");
  CHECK(count_of(cluster, VertexKind::nvswitch) == 0);
  const LinkFigures pcie = link_from(cluster, VertexKind::gpu, LinkKind::pcie);
  CHECK(pcie.bandwidth == Rate::bytes_per_second(64'000'000'000));  // PCIe 5.0, 16 lanes
}

TEST_CASE("part of a node, racks, and more NICs than GPUs") {
  CHECK(cluster_of(R"({"gpu": "h100-sxm5-80gb", "gpus": 2, "gpus_per_node": 8})").ranks() == 2);
  CHECK(cluster_of(R"({"gpu": "gb200-nvl72", "gpus": 144, "intra": "nvl72"})").nodes() == 2);
  const Cluster twice = cluster_of(R"({"gpu": "h100-sxm5-80gb", "gpus": 8, "gpus_per_node": 4,
    "nics_per_node": 8, "nic_gbps": 100})");
  CHECK(count_of(twice, VertexKind::nic) == 8);  // one for each GPU, as fast as two
  CHECK(link_from(twice, VertexKind::nic, LinkKind::network).bandwidth ==
        Rate::bytes_per_second(25'000'000'000));
}

TEST_CASE("jobs take equally many whole trays of the fewest racks") {
  struct Case {
    int gpus;
    int racks;
    int of_each;
  };
  // 18 trays a rack: 32 trays are 16 of each of 2, 128 are 16 of 8, 27 are 9 of 3 (no half trays);
  // 60 GPUs are a part of one rack.
  for (const Case& each : {Case{128, 2, 64}, {512, 8, 64}, {108, 3, 36}, {144, 2, 72}}) {
    CAPTURE(each.gpus);
    const Cluster derived = cluster_of(
        fmt::format(R"({{"gpu": "gb200-nvl72", "gpus": {}, "intra": "nvl72"}})", each.gpus));
    CHECK(derived.nodes() == each.racks);
    CHECK(derived.gpus_per_node() == each.of_each);
    CHECK(derived.ranks() == each.gpus);
    const Cluster named = cluster_of(fmt::format(R"({{"file": "nvl72", "ranks": {}}})", each.gpus));
    CHECK(named.nodes() == each.racks);
    CHECK(named.gpus_per_node() == each.of_each);
    CHECK(count_of(named, VertexKind::nic) == each.gpus);
    CHECK(count_of(named, VertexKind::cpu) == each.gpus / 2);
  }
  CHECK(cluster_of(R"({"gpu": "gb200-nvl72", "gpus": 60, "intra": "nvl72"})").gpus_per_node() ==
        72);
  CHECK(cluster_of(R"({"gpu": "gb200-nvl72", "gpus": 144, "gpus_per_node": 36, "intra": "nvl72"})")
            .nodes() == 4);
  // 84 GPUs are 21 trays, 7 of each of 3 racks: less than half a rack, but the most.
  CHECK(cluster_of(R"({"gpu": "gb200-nvl72", "gpus": 84, "gpus_per_node": 28, "intra": "nvl72"})")
            .nodes() == 3);
  // Tables of runs give the 4 GPUs of a tray: one rack has all 72, and half of 96.
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 72, "gpus_per_node": 4, "intra": "nvl72"})") ==
        "/cluster/gpus_per_node: 4 of each rack spread 72 GPUs over 18 racks; leave it out: one "
        "rack has up to 72 of them");
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 96, "gpus_per_node": 24, "intra": "nvl72"})") ==
        "/cluster/gpus_per_node: 24 of each rack spread 96 GPUs over 4 racks; leave it out: one "
        "rack has up to 48 of them");
  const Cluster eight = cluster_of(R"({"file": "gb300-nvl72", "nodes": 8,
    "topology": {"gpus": 64}})");
  CHECK(eight.ranks() == 512);
  CHECK(error_of(R"({"file": "nvl72", "nodes": 2, "topology": {"gpus": 70}})") ==
        "/cluster/topology/gpus: expected whole trays of 4 GPUs, 4 to 72 GPUs of a rack, got 70");
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 74, "intra": "nvl72"})") ==
        "/cluster/gpus: 74 GPUs are not whole trays of 4; use 72 or 76");
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 100, "gpus_per_node": 72, "intra": "nvl72"})") ==
        "/cluster/gpus: 100 GPUs are not a multiple of 72 per node; use 72 or 144");
}

TEST_CASE("jobs of any number of trays are spread over racks of unequal numbers of them") {
  struct Case {
    int gpus;
    int racks;
    std::string sizes;
  };
  // 19 trays are 10 + 9; 25 are 5 x 5, too many racks, so 13 + 12; 37 are 13 + 12 + 12; 53 are
  // 18 + 18 + 17, so that the largest rack is a whole one.
  for (const Case& each : {Case{76, 2, "36 to 40"},
                           {100, 2, "48 to 52"},
                           {148, 3, "48 to 52"},
                           {212, 3, "68 to 72"}}) {
    CAPTURE(each.gpus);
    const int most = each.gpus == 76 ? 40 : each.gpus == 212 ? 72 : 52;
    for (const std::string& text :
         {fmt::format(R"({{"gpu": "gb200-nvl72", "gpus": {}}})", each.gpus),
          fmt::format(R"({{"gpu": "gb200-nvl72", "gpus": {}, "gpus_per_node": {},
                           "intra": "nvl72"}})",
                      each.gpus, most),
          fmt::format(R"({{"file": "nvl72", "ranks": {}}})", each.gpus)}) {
      const Cluster cluster = cluster_of(text);
      CHECK(cluster.nodes() == each.racks);
      CHECK(cluster.ranks() == each.gpus);
      CHECK(cluster.gpus_per_node() == 4);
      CHECK(node_sizes_text(cluster) == each.sizes);
      CHECK(take_census(cluster).count(VertexKind::nic) == static_cast<std::size_t>(each.gpus));
    }
  }
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 76, "gpus_per_node": 36, "intra": "nvl72"})") ==
        "/cluster/gpus: 76 GPUs are not a multiple of 36 per node; use 72 or 108");
  CHECK(error_of(R"({"file": "nvl72", "ranks": 75})") ==
        "/cluster/ranks: racks have whole trays of 4 GPUs: expected 1 to 72, or a multiple of 4 "
        "such as "
        "72 or 76, got 75");
}

TEST_CASE("parameter servers need hosts") {
  const std::string servers =
      R"({"exchange": "parameter_server", "servers": 3, "precision": "fp16"})";
  CHECK(read(R"({"file": "star", "ranks": 4, "gpu": "v100-sxm2-32gb"})", servers)
            .cluster.cluster.auxiliary_ranks() == 3);
  CHECK(read(R"({"file": "dgx-a100", "nodes": 2})", servers).cluster.cluster.auxiliary_ranks() ==
        4);
  CHECK(error_of(R"({"file": "dgx-a100", "nodes": 1})", servers) ==
        "/cluster: 3 parameter servers need as many hosts; this cluster has 2 CPU sockets");
}

TEST_CASE("a cluster that cannot be says what would do") {
  CHECK(error_of(R"({"gpu": "h100-sxm5-80gb", "gpus": 12})") ==
        "/cluster/gpus: 12 GPUs are not a multiple of 8 per node; use 8 or 16");
  CHECK(error_of(R"({"gpu": "a100-sxm4-80gb", "gpus": 16, "gpus_per_node": 16,
                     "intra": "nvlink-mesh"})") ==
        "/cluster/intra: GPUs with 12 links each reach at most 12 others directly; gpus_per_node "
        "up to 13, or \"nvswitch\"");
  CHECK(error_of(R"({"gpu": "gb200-nvl72", "gpus": 6, "gpus_per_node": 6, "intra": "nvl72"})") ==
        "/cluster/gpus_per_node: a job takes whole trays of 4 GPUs of a rack of 72, got 6");
  CHECK(error_of(R"({"file": "star", "ranks": 4})") ==
        "/cluster: \"host\" computes nothing: name a \"gpu\" in its place");
  CHECK(error_of("7") ==
        "/cluster: expected a cluster: the name of one, such as \"dgx-h100\", or an object, got "
        "the number 7");
}

}  // namespace
}  // namespace lockstep
