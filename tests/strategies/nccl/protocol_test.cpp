#include "topologies/files/protocol.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/lower.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

Protocol shipped(const std::string& id) {
  return load_protocol(kConfigs / "protocols" / (id + ".json"));
}

Cluster shipped_cluster(const std::string& id, const ClusterSize& size = {}) {
  return load_cluster(kConfigs / "clusters" / (id + ".json"), size).cluster;
}

Network lowered(const Cluster& cluster, const std::string& protocol) {
  Network network = lower(cluster);
  apply(shipped(protocol), cluster, network);
  return network;
}

/// Of the first path of a route: the links' own latencies added up.
Duration sum_of_links(const Network& network, const Route& route) {
  Int128 sum = 0;
  for (const Hop& hop : route.hops) {
    sum += Int128{network.links[hop.link].latency.ps()} * Int128{hop.weight};
  }
  return Duration::picoseconds(static_cast<std::int64_t>(sum / Int128{kWeightUnit}));
}

/// The latency of a route, which must be that of its links.
Duration latency(const Network& network, int from, int to) {
  const Route route = route_of(*network.router, from, to);
  CHECK(route.latency == sum_of_links(network, route));
  return route.latency;
}

std::string good() {
  return text_of_file(kConfigs / "protocols/ll128.json");
}

Protocol protocol_from(std::string_view text) {
  return read_protocol(parse_json(text, "p.json"), "p");
}

TEST_CASE("the shipped protocols are NCCL's three") {
  CHECK(protocol_ids(kConfigs / "protocols") == std::vector<std::string>{"ll", "ll128", "simple"});
  CHECK(shipped("ll128").name == "LL128");
}

TEST_CASE("slots are an eighth of the buffer, and the payload its share of that") {
  CHECK(shipped("ll").slots == 8);
  CHECK(shipped("ll").slot_size == 64_KiB);
  CHECK(shipped("ll").slot_payload() == 32_KiB);
  CHECK(shipped("ll128").slot_size == 614'400_B);       // 4,915,200 B / 8
  CHECK(shipped("ll128").slot_payload() == 576'000_B);  // 120 of 128
  CHECK(shipped("simple").slot_payload() == 512_KiB);
}

TEST_CASE("a link carries the payload's share of its bandwidth") {
  const Cluster cluster = shipped_cluster("dgx-h100", nodes(2));
  const Network plain = lower(cluster);
  const Network ll = lowered(cluster, "ll");
  const Network ll128 = lowered(cluster, "ll128");
  const Network simple = lowered(cluster, "simple");
  for (LinkId id = 0; id < plain.links.size(); ++id) {
    const std::uint64_t steps = plain.links[id].bandwidth.steps();
    CHECK(ll.links[id].bandwidth.steps() == steps / 2);
    CHECK(ll128.links[id].bandwidth.steps() == steps * 15 / 16);
    CHECK(simple.links[id].bandwidth.steps() == steps);
  }
}

TEST_CASE("a share that is no whole step is rounded down, never to nothing") {
  CHECK(shipped("ll128").payload_rate(Rate::from_steps(17)).steps() == 15);  // 15.9375
  CHECK(shipped("ll").payload_rate(Rate::from_steps(1)).steps() == 1);
  CHECK(shipped("ll128").payload_rate(Rate::from_steps(Rate::kMaxSteps)).steps() ==
        Rate::kMaxSteps / 16 * 15);
}

TEST_CASE("hops of a DGX H100 take as long as in NCCL's table") {
  const Cluster cluster = shipped_cluster("dgx-h100", nodes(2));
  struct Expected {
    const char* protocol;
    Duration nvlink;
    Duration network;
  };
  // NCCL 2.30.7 src/graph/tuning.cc, ring: NVLink 0.6, 1.9, 3.4 us; NET 2.7, 4, 14 us.
  for (const Expected& e : {Expected{"ll", 600_ns, 2700_ns}, Expected{"ll128", 1900_ns, 4_us},
                            Expected{"simple", 3400_ns, 14_us}}) {
    CAPTURE(e.protocol);
    const Network network = lowered(cluster, e.protocol);
    CHECK(latency(network, 0, 1) == e.nvlink);
    CHECK(latency(network, 0, 8) == e.network);              // same rail
    CHECK(latency(network, 0, 11) == e.nvlink + e.network);  // over NVLink to the other rail
  }
}

TEST_CASE("NVLinks from GPU to GPU hold the whole of a hop") {
  const Cluster cluster = shipped_cluster("dgx1");
  CHECK(latency(lowered(cluster, "ll"), 0, 1) == 600_ns);
  CHECK(latency(lowered(cluster, "ll128"), 0, 1) == 1900_ns);
  CHECK(latency(lowered(cluster, "simple"), 0, 1) == 3400_ns);
}

TEST_CASE("hops over PCIe take as long as in NCCL's table, those between sockets as much longer") {
  const Cluster cluster = shipped_cluster("pcie-box");
  // PCI 1, 2.5, 5.7 us under one switch; between the sockets four PCIe links and one of the CPUs,
  // 2.5 us, of which the protocol's part is added once.
  CHECK(latency(lowered(cluster, "ll"), 0, 1) == 1_us);
  CHECK(latency(lowered(cluster, "ll128"), 0, 1) == 2500_ns);
  CHECK(latency(lowered(cluster, "simple"), 0, 1) == 5700_ns);
  CHECK(latency(lowered(cluster, "ll128"), 0, 4) == 4_us);
  CHECK(latency(lowered(cluster, "simple"), 0, 4) == 7200_ns);
}

TEST_CASE("long routes through switches are charged once") {
  // 128 nodes under leaves of 64: 0 to node 1 passes one switch, to node 127 three.
  const Cluster cluster = shipped_cluster("rail-optimised");
  const Network plain = lower(cluster);
  const Network simple = lowered(cluster, "simple");
  for (const int far : {8, 127 * 8}) {
    CHECK(latency(simple, 0, far) - latency(plain, 0, far) == 11'300_ns);
  }
}

TEST_CASE("hosts without NICs are charged the whole of a hop over the network") {
  const Cluster star = shipped_cluster("star");
  CHECK(latency(lowered(star, "ll"), 0, 1) == 2_us);
  CHECK(latency(lowered(star, "ll128"), 0, 1) == 3300_ns);  // 2 + 1.3
  CHECK(latency(lowered(star, "simple"), 0, 1) == 13'300_ns);
  const Cluster ring = shipped_cluster("ring");
  CHECK(latency(lowered(ring, "simple"), 0, 1) == 12'300_ns);  // one cable, both ends
}

TEST_CASE("GB200 reaches its NICs by its CPUs and pays the same") {
  const Cluster racks = shipped_cluster("nvl72", nodes(2));
  const Network plain = lower(racks);
  for (const char* id : {"ll128", "simple"}) {
    const Network network = lowered(racks, id);
    CHECK(latency(network, 0, 72) - latency(plain, 0, 72) == shipped(id).added(LinkKind::network));
  }
}

TEST_CASE("routes of every shipped cluster agree with its links under every protocol") {
  for (const char* id : {"summit", "custom-graph", "dgx-a100", "torus-3d", "dragonfly"}) {
    CAPTURE(id);
    const Cluster cluster = shipped_cluster(id);
    for (const std::string& protocol : protocol_ids(kConfigs / "protocols")) {
      const Network network = lowered(cluster, protocol);
      for (int to = 1; to < cluster.ranks(); ++to) (void)latency(network, 0, to);
    }
  }
}

TEST_CASE("no link becomes faster than at once") {
  // A network hop as LL128 has it adds less than its PCIe links: -0.1 us at each NIC, but these
  // cables take no time at all.
  const Cluster cluster = build_cluster(
      hgx("dgx_h100"), call("rail_optimised", {{"link", link_of(50_GBps, Duration{})}}), nodes(2));
  const Network network = lowered(cluster, "ll128");
  CHECK(latency(network, 0, 8) == 3500_ns);  // four PCIe links of 0.5 us and 1.5 us for two ends
}

TEST_CASE("schema and reader accept every shipped protocol and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/protocol.schema.json",
                             [](std::string_view text) { (void)protocol_from(text); }};
  for (const std::string& id : protocol_ids(kConfigs / "protocols")) {
    CHECK(both.verdict(text_of_file(kConfigs / "protocols" / (id + ".json"))) == "both accept");
  }
  for (const Mutation& m :
       std::vector<Mutation>{{"unknown key", "/latency", "1"},
                             {"missing name", "/name", ""},
                             {"missing source", "/payload/source", ""},
                             {"empty source", "/buffer/source", "\"\""},
                             {"missing kind of link", "/added_latency/cpu", ""},
                             {"unknown kind of link", "/added_latency/nvlnk", "\"1 us\""},
                             {"negative latency", "/added_latency/nvlink", "\"-1 us\""},
                             {"bare number", "/payload/bytes", "4"},
                             {"no payload", "/payload/bytes", "\"0 B\""},
                             {"no slots", "/buffer/slots", "0"},
                             {"too many slots", "/buffer/slots", "1025"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good(), m)) == "both refuse");
  }
}

TEST_CASE("the reader also refuses what no schema can say") {
  CHECK_THROWS_WITH_AS(
      (void)protocol_from(mutated(good(), {"", "/payload/bytes", "\"129 B\""})),
      doctest::Contains("/payload/bytes: there cannot be more data than bytes on the wire"),
      ConfigError);
  CHECK_THROWS_WITH_AS(
      (void)protocol_from(mutated(good(), {"", "/buffer/slots", "7"})),
      doctest::Contains("/buffer/size: expected a multiple of the number of slots"), ConfigError);
}

}  // namespace
}  // namespace lockstep
