#include "topologies/files/cluster_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/analysis/slowest_links.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

ClusterFile shipped(const std::string& name, const ClusterSize& size = {}) {
  return load_cluster(kConfigs / "clusters" / (name + ".json"), size);
}

std::string error_of(std::string_view text, const ClusterSize& size = {}) {
  try {
    (void)read_cluster(parse_json(text, "c.json"), size);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string good(const std::string& name) {
  return text_of_file(kConfigs / "clusters" / (name + ".json"));
}

std::string size_error(const std::string& name, const ClusterSize& size) {
  return error_of(good(name), size);
}

struct Expected {
  const char* name;
  int nodes;
  int ranks;
  int per_node;
};

/// GPUs per node as their makers say; sizes as the files do.
const std::vector<Expected> kShipped{{"aws-p4d", 1, 8, 8},
                                     {"aws-p5", 1, 8, 8},
                                     {"aws-p5en", 1, 8, 8},
                                     {"aws-p6-b200", 1, 8, 8},
                                     {"azure-nd-h100-v5", 1, 8, 8},
                                     {"coreweave-gb200", 1, 72, 72},
                                     {"custom-graph", 2, 4, 2},
                                     {"dgx-a100", 1, 8, 8},
                                     {"dgx-b200", 1, 8, 8},
                                     {"dgx-b300", 1, 8, 8},
                                     {"dgx-h100", 1, 8, 8},
                                     {"dgx-h200", 1, 8, 8},
                                     {"dgx1", 1, 8, 8},
                                     {"dragonfly", 72, 72, 1},
                                     {"fat-tree", 64, 64, 1},
                                     {"fat-tree-2to1", 64, 64, 1},
                                     {"fat-tree-3level", 128, 128, 1},
                                     {"full-mesh", 8, 8, 1},
                                     {"gb300-nvl72", 1, 72, 72},
                                     {"gcp-a3-mega", 1, 8, 8},
                                     {"gcp-a4", 1, 8, 8},
                                     {"hgx-h100-ethernet", 1, 8, 8},
                                     {"hypercube", 16, 16, 1},
                                     {"mi300x-box", 1, 8, 8},
                                     {"mi355x-box", 1, 8, 8},
                                     {"nvl72", 1, 72, 72},
                                     {"oci-bm-gpu-h100", 1, 8, 8},
                                     {"pcie-box", 1, 8, 8},
                                     {"rail-optimised", 128, 1024, 8},
                                     {"ring", 8, 8, 1},
                                     {"star", 8, 8, 1},
                                     {"summit", 1, 6, 6},
                                     {"torus-2d", 16, 16, 1},
                                     {"torus-3d", 64, 64, 1},
                                     {"tpu-v5p-slice", 64, 64, 1},
                                     {"tpu-v6e-pod", 256, 256, 1},
                                     {"tpu-v7-slice", 64, 64, 1},
                                     {"trn2", 16, 16, 1},
                                     {"two-sites", 8, 64, 8},
                                     {"vera-rubin-nvl72", 1, 72, 72}};

TEST_CASE("every shipped cluster reads, agrees with the schema and names a shipped device") {
  const SchemaAgreement agreement{
      kConfigs / "schema/cluster.schema.json",
      [](std::string_view text) { (void)read_cluster(parse_json(text, "c.json")); }};
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "clusters")) {
    found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> expected;
  for (const Expected& row : kShipped) {
    CAPTURE(row.name);
    expected.emplace_back(row.name);
    const ClusterFile file = shipped(row.name);
    CHECK(file.name == row.name);
    CHECK(file.cluster.nodes() == row.nodes);
    CHECK(file.cluster.ranks() == row.ranks);
    CHECK(file.cluster.gpus_per_node() == row.per_node);
    CHECK(agreement.verdict(good(row.name)) == "both accept");
    CHECK_NOTHROW((void)load_device(kConfigs / "devices" / (file.device + ".json")));
  }
  CHECK(found == expected);
}

/// Every object that has a bandwidth says where its figures are from.
void check_sources(const JsonValue& value) {
  if (const auto* array = value.get_if<JsonArray>()) {
    for (const auto& element : *array) check_sources(element);
  }
  const auto* object = value.get_if<JsonObject>();
  if (object == nullptr) return;
  if (find_member(*object, "bandwidth") != nullptr)
    for (const char* key : {"source", "provenance"}) CHECK(find_member(*object, key) != nullptr);
  for (const auto& member : *object) check_sources(member.value);
}

TEST_CASE("every figure of a shipped cluster has a source") {
  for (const Expected& row : kShipped) {
    CAPTURE(row.name);
    check_sources(read_json(kConfigs / "clusters" / (std::string{row.name} + ".json")).root);
  }
}

TEST_CASE("the latency of a link is as sure as its bandwidth unless its file says otherwise") {
  const auto host_link = [](const char* name) {
    const auto links = slowest_links(shipped(name, {{}, 2, 0}).cluster);
    return links[static_cast<std::size_t>(LinkKind::network)].value();
  };
  CHECK(host_link("star").provenance == Provenance::assumed);  // an ideal cable
  CHECK(host_link("star").latency_provenance == Provenance::assumed);
  const auto dgx = slowest_links(shipped("dgx-h100").cluster);
  const LinkFigures sockets = dgx[static_cast<std::size_t>(LinkKind::cpu)].value();
  CHECK(sockets.provenance == Provenance::datasheet);
  CHECK(sockets.latency_provenance == Provenance::assumed);
  const LinkFigures nvlink = dgx[static_cast<std::size_t>(LinkKind::nvlink)].value();
  CHECK(nvlink.latency_provenance == Provenance::datasheet);
}

TEST_CASE("star.json is the textbook's: 400 Gb/s each way, 2 us end to end, any size") {
  const Cluster star = shipped("star", {{}, 5, 2}).cluster;
  CHECK(star.ranks() == 5);
  CHECK(star.auxiliary_ranks() == 2);
  CHECK(route_of(*make_router(star), 4, 6).latency == 2_us);
  CHECK(star.link(0).figures.carried() == 50_GBps);
}

TEST_CASE("usable NVLink bandwidth is NCCL's per link times the links") {
  const auto nvlink = [](const char* name) {
    const Cluster cluster = shipped(name).cluster;
    const Route route = route_of(*make_router(cluster), 0, 1);
    return bottleneck(cluster, route)->rate.bytes_per_second() / 1e9;
  };
  CHECK(nvlink("dgx-h100") == doctest::Approx(18 * 20.6));
  CHECK(nvlink("dgx-a100") == doctest::Approx(12 * 20.0));
  CHECK(nvlink("nvl72") == doctest::Approx(18 * 40.1));
  CHECK(nvlink("dgx1") == doctest::Approx(20.0));    // one link between GPUs 0 and 1
  CHECK(nvlink("summit") == doctest::Approx(40.0));  // two links
}

TEST_CASE("a size that a cluster cannot have is one error that says what it can have") {
  CHECK(size_error("torus-2d", ranks(10)) ==
        "c.json:1:1: error: a torus of shape 4x4 has 16 ranks, got 10; --set "
        "topology.shape=[2,5] gives 10 (in a scenario cluster.topology.shape)\n"
        "1 error; nothing was run");
  CHECK(size_error("hypercube", ranks(12)) ==
        "c.json:15:12: error: /ranks: a hypercube has a power of two of ranks, such as 8 or 16, "
        "got 12\n1 error; nothing was run");
  CHECK(size_error("dgx-h100", ranks(20))
            .find("expected 1 to 8, or a multiple such as 16 or 24, "
                  "got 20") != std::string::npos);
  CHECK(size_error("custom-graph", ranks(8))
            .find("this cluster is written out with 4 ranks, got 8") != std::string::npos);
  CHECK(shipped("custom-graph", ranks(4)).cluster.ranks() == 4);
  CHECK(shipped("dgx-h100", ranks(2)).cluster.ranks() == 2);
  CHECK(shipped("dgx-h100", nodes(16)).cluster.ranks() == 128);
  CHECK(shipped("star", ranks(1000)).cluster.ranks() == 1000);
}

TEST_CASE("the schema and the reader refuse the same files") {
  const SchemaAgreement agreement{
      kConfigs / "schema/cluster.schema.json",
      [](std::string_view text) { (void)read_cluster(parse_json(text, "c.json")); }};
  const std::vector<Mutation> of_node{
      {"bare number", "/topology/nvlink/bandwidth", "450"},
      {"no unit", "/topology/nvlink/bandwidth", "\"450\""},
      {"zero rate", "/topology/nvlink/bandwidth", "\"0 GB/s\""},
      {"rate for a time", "/topology/pcie/latency", "\"1 GB/s\""},
      {"efficiency above one", "/topology/nvlink/efficiency", "1.5"},
      {"efficiency zero", "/topology/nvlink/efficiency", "0"},
      {"link missing", "/topology/cpu", ""},
      {"unknown parameter", "/topology/nvswitch", "1"},
      {"unknown builder", "/topology/builder", "\"dgx_b100\""},
      {"builder missing", "/topology/builder", ""},
      {"a node for a fabric", "/fabric/builder", "\"dgx_h100\""},
      {"radix a text", "/fabric/radix", "\"64\""},
      {"radix zero", "/fabric/radix", "0"},
      {"ratio", "/fabric/oversubscription", "2"},
      {"ratio of zero", "/fabric/oversubscription", "\"0:1\""},
      {"no nodes", "/nodes", ""},
      {"zero nodes", "/nodes", "0"},
      {"half a node", "/nodes", "1.5"},
      {"ranks of nodes", "/ranks", "8"},
      {"name missing", "/name", ""},
      {"empty device", "/device", "\"\""},
      {"unknown key", "/nics", "8"},
      {"both forms", "/graph", R"({"vertices": [{"id": "a", "kind": "gpu"}], "cables": []})"},
      {"neither form", "/topology", ""}};
  for (const Mutation& mutation : of_node) {
    CAPTURE(mutation.name);
    CHECK(agreement.verdict(mutated(good("dgx-h100"), mutation)) == "both refuse");
  }
  const std::vector<Mutation> of_graph{
      {"no vertices", "/graph/vertices", "[]"},
      {"unknown kind", "/graph/vertices/0/kind", "\"tpu\""},
      {"negative node", "/graph/vertices/0/node", "-1"},
      {"one end", "/graph/cables/0/between", "[\"switch\"]"},
      {"self-link", "/graph/cables/0/between", "[\"switch\", \"switch\"]"},
      {"unknown cable", "/graph/cables/0/kind", "\"rope\""},
      {"no figures", "/graph/cables/0/latency", ""},
      {"forwards a number", "/graph/vertices/0/forwards", "1"},
      {"no GPUs", "/graph", R"({"vertices": [{"id": "a", "kind": "cpu"}], "cables": []})"}};
  for (const Mutation& mutation : of_graph) {
    CAPTURE(mutation.name);
    CHECK(agreement.verdict(mutated(good("custom-graph"), mutation)) == "both refuse");
  }
  const std::vector<Mutation> accepted{{"efficiency left out", "/topology/nvlink/efficiency", ""},
                                       {"source left out", "/topology/nvlink/source", ""},
                                       {"fabric left out", "/fabric", ""},
                                       {"device left out", "/device", ""}};
  for (const Mutation& mutation : accepted) {
    CAPTURE(mutation.name);
    CHECK(agreement.verdict(mutated(good("dgx-h100"), mutation)) == "both accept");
  }
}

TEST_CASE("the schema knows every builder of the table") {
  const SchemaAgreement agreement{
      kConfigs / "schema/cluster.schema.json",
      [](std::string_view text) { (void)read_cluster(parse_json(text, "c.json")); }};
  for (const Builder& row : topology_builders()) {
    CAPTURE(row.name);
    const bool shaped = row.name == "torus_2d" || row.name == "torus_3d";
    const std::string size = row.is_node() ? R"(, "nodes": 1)" : shaped ? "" : R"(, "ranks": 8)";
    const std::string text =
        R"({"name": "c", "topology": )" + std::string{row.example} + size + "}";
    CHECK(agreement.verdict(text) == "both accept");
    for (const Parameter& parameter : row.parameters) {
      const Mutation wrong{"", "/topology/" + std::string{parameter.name}, "true"};
      CHECK(agreement.verdict(mutated(text, wrong)) == "both refuse");
    }
  }
}

TEST_CASE("a cluster written out: every fault at its place") {
  const std::string text = R"({
  "name": "c",
  "graph": {
    "vertices": [
      {"id": "a", "kind": "gpu"},
      {"id": "a", "kind": "gpu"},
      {"id": "hub", "kind": "leaf"}
    ],
    "cables": [
      {"between": ["a", "hubb"], "kind": "network", "bandwidth": "1 GB/s", "latency": "1 us"},
      {"between": ["a", "a"], "kind": "network", "bandwidth": "1 GB/s", "latency": "1 us"}
    ]
  }
})";
  CHECK(error_of(text) ==
        "c.json:6:14: error: /graph/vertices/1/id: there is a vertex \"a\" already\n"
        "c.json:10:25: error: /graph/cables/0/between/1: no vertex \"hubb\"; did you mean "
        "\"hub\"?\n"
        "c.json:11:19: error: /graph/cables/1/between: a cable joins two different vertices\n"
        "3 errors; nothing was run");
}

TEST_CASE("a cluster written out: GPUs that no path joins") {
  const std::string text = R"({
  "name": "c",
  "graph": {
    "vertices": [
      {"id": "a", "kind": "gpu"},
      {"id": "b", "kind": "gpu"},
      {"id": "c", "kind": "gpu"}
    ],
    "cables": [
      {"between": ["a", "b"], "kind": "nvlink", "bandwidth": "1 GB/s", "latency": "1 us"},
      {"between": ["b", "c"], "kind": "nvlink", "bandwidth": "1 GB/s", "latency": "1 us"}
    ]
  }
})";
  CHECK(error_of(text) ==
        "c.json:7:7: error: /graph/vertices/2: \"c\" cannot be reached from \"a\" through vertices "
        "that forward (GPUs do with \"forwards\": true)\n1 error; nothing was run");
  std::string forwarding = text;
  forwarding.replace(forwarding.find("\"b\", \"kind\": \"gpu\""), 18,
                     "\"b\", \"kind\": \"gpu\", \"forwards\": true");
  CHECK(error_of(forwarding) == "accepted");
}

TEST_CASE("a cluster written out takes its ranks node by node, hosts behind them") {
  const Cluster cluster = shipped("custom-graph").cluster;
  CHECK(walk(cluster, route_of(*make_router(cluster), 0, 1)) == "box0/gpu0 box0/gpu1");
  CHECK(walk(cluster, route_of(*make_router(cluster), 1, 2)) ==
        "box0/gpu1 box0/cpu box0/nic switch box1/nic box1/cpu box1/gpu0");
  CHECK(cluster.auxiliary_ranks() == 2);  // the sockets
}

TEST_CASE("a misspelt builder is named with the one that was meant") {
  CHECK(error_of(R"({"name": "c", "ranks": 4, "topology": {"builder": "rng"}})") ==
        "c.json:1:51: error: /topology/builder: no topology named \"rng\"; did you mean "
        "\"ring\"?\n1 error; nothing was run");
}

}  // namespace
}  // namespace lockstep
