#include <doctest/doctest.h>

#include <string>

#include "tests/topologies/files/schema_agreement.hpp"
#include "tests/topologies/graph/cluster_helpers.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/files/cluster_file.hpp"

/// Cluster files whose node is written out with vertices and cables.
namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

Cluster read(const std::string& text, const ClusterSize& size = {}) {
  return read_cluster(parse_json(text, "c.json"), size).cluster;
}

std::string error_of(const std::string& text, const ClusterSize& size = {}) {
  try {
    (void)read(text, size);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// Two GPUs and two NICs under one CPU; joined by a fat tree.
const std::string kSmall = R"({
  "name": "c",
  "node": {
    "vertices": [
      {"id": "gpu0", "kind": "gpu"},
      {"id": "gpu1", "kind": "gpu", "source": "0000:01:00.0"},
      {"id": "cpu0", "kind": "cpu"},
      {"id": "nic0", "kind": "nic"},
      {"id": "nic1", "kind": "nic"}
    ],
    "cables": [
      {"between": ["gpu0", "gpu1"], "kind": "nvlink", "bandwidth": "50 GB/s", "latency": "600 ns"},
      {"between": ["gpu0", "cpu0"], "kind": "pcie", "bandwidth": "16 GB/s", "latency": "500 ns"},
      {"between": ["gpu1", "cpu0"], "kind": "pcie", "bandwidth": "16 GB/s", "latency": "500 ns"},
      {"between": ["nic0", "cpu0"], "kind": "pcie", "bandwidth": "16 GB/s", "latency": "500 ns"},
      {"between": ["nic1", "cpu0"], "kind": "pcie", "bandwidth": "16 GB/s", "latency": "500 ns"}
    ]
  },
  "nodes": 2,
  "fabric": {"builder": "rail_optimised", "link": {"bandwidth": "100 Gb/s", "latency": "350 ns"}}
})";

/// The first node of a cluster as a file writes it.
std::string written_node(const Cluster& one) {
  std::string vertices;
  for (VertexId v = 0; v < one.vertex_count(); ++v) {
    const Vertex vertex = one.vertex(v);
    const std::string name = one.vertex_name(v);
    vertices += (v == 0 ? "" : ", ") + (R"({"id": ")" + name.substr(name.find('/') + 1)) +
                R"(", "kind": ")" + std::string{to_string(vertex.kind)} + R"(", "forwards": )" +
                (vertex.forwards ? "true" : "false") +
                (vertex.rail < 0 ? "" : R"(, "rail": )" + std::to_string(vertex.rail)) + "}";
  }
  std::string cables;
  for (LinkId id = 0; id < one.link_count(); id += 2) {  // the other direction has the next id
    const ClusterLink link = one.link(id);
    const std::string from = one.vertex_name(link.from);
    const std::string to = one.vertex_name(link.to);
    cables += (id == 0 ? "" : ", ") + (R"({"between": [")" + from.substr(from.find('/') + 1)) +
              R"(", ")" + to.substr(to.find('/') + 1) + R"("], "kind": ")" +
              std::string{to_string(link.kind)} + R"(", "bandwidth": ")" +
              to_string(link.figures.bandwidth) + R"(", "latency": ")" +
              to_string(link.figures.latency) + R"("})";
  }
  return R"({"vertices": [)" + vertices + R"(], "cables": [)" + cables + "]}";
}

void check_same(const Cluster& ours, const Cluster& theirs) {
  REQUIRE(ours.vertex_count() == theirs.vertex_count());
  REQUIRE(ours.link_count() == theirs.link_count());
  CHECK(ours.nodes() == theirs.nodes());
  CHECK(ours.gpus_per_node() == theirs.gpus_per_node());
  CHECK(ours.endpoints() == theirs.endpoints());
  for (LinkId id = 0; id < ours.link_count(); ++id) {
    REQUIRE(ours.link_name(id) == theirs.link_name(id));
    CHECK(ours.link(id).figures.bandwidth == theirs.link(id).figures.bandwidth);
    CHECK(ours.link(id).figures.latency == theirs.link(id).figures.latency);
  }
  const auto router = make_router(ours);
  const auto expected = make_router(theirs);
  for (int from = 0; from < ours.endpoints(); ++from) {
    for (int to = 0; to < ours.endpoints(); ++to) {
      CHECK(walk(ours, route_of(*router, from, to)) == walk(theirs, route_of(*expected, from, to)));
    }
  }
}

TEST_CASE("a node written out is the builder's node, alone and joined by any fabric") {
  const std::vector<std::pair<std::string, std::string>> fabrics{
      {"rail_optimised",
       R"({"builder": "rail_optimised", "link": {"bandwidth": "50 GB/s", "latency": "1 us"}})"},
      {"fat_tree",
       R"({"builder": "fat_tree", "link": {"bandwidth": "50 GB/s", "latency": "1 us"}})"},
      {"star", R"({"builder": "star", "link": {"bandwidth": "50 GB/s", "latency": "1 us"}})"}};
  for (const char* name : {"dgx_h100", "dgx_a100", "dgx1", "summit"}) {
    const std::string node = written_node(build_cluster(hgx(name), std::nullopt, nodes(1)));
    for (const auto& [fabric, text] : fabrics) {
      if (fabric == "rail_optimised" && std::string_view{name}.substr(0, 3) != "dgx") continue;
      CAPTURE(name);
      CAPTURE(fabric);
      const std::string file =
          R"({"name": "c", "node": )" + node + R"(, "nodes": 3, "fabric": )" + text + "}";
      const auto joined = call(fabric, {{"link", link_of(50_GBps, 1_us)}});
      check_same(read(file), build_cluster(hgx(name), joined, nodes(3)));
      check_same(read(file, nodes(1)), build_cluster(hgx(name), std::nullopt, nodes(1)));
      check_same(read(file, ranks(2)), build_cluster(hgx(name), std::nullopt, ranks(2)));
    }
  }
}

TEST_CASE(
    "rails that are not specified: NICs in order, GPUs with the nearest NIC that has fewest") {
  const Cluster cluster = read(kSmall);
  CHECK(cluster.ranks() == 4);
  CHECK(cluster.auxiliary_ranks() == 2);
  CHECK(walk(cluster, route_of(*make_router(cluster), 1, 3)) ==
        "node0/gpu1 node0/cpu0 node0/nic1 rail1/leaf0 node1/nic1 node1/cpu0 node1/gpu1");
  CHECK(walk(cluster, route_of(*make_router(cluster), 0, 3)) ==
        "node0/gpu0 node0/gpu1 node0/cpu0 node0/nic1 rail1/leaf0 node1/nic1 node1/cpu0 node1/gpu1");
}

TEST_CASE("GPUs of a node without NICs are cabled to the fabric themselves") {
  const Cluster cluster = read(R"({
    "name": "c",
    "node": {
      "vertices": [{"id": "a", "kind": "gpu"}, {"id": "b", "kind": "gpu"}],
      "cables": [{"between": ["a", "b"], "kind": "nvlink", "bandwidth": "50 GB/s", "latency": "600 ns"}]
    },
    "nodes": 2,
    "fabric": {"builder": "star", "link": {"bandwidth": "100 Gb/s", "latency": "1 us"}}
  })");
  CHECK(walk(cluster, route_of(*make_router(cluster), 1, 2)) == "node0/b leaf0 node1/a");
  CHECK(walk(cluster, route_of(*make_router(cluster), 1, 0)) == "node0/b node0/a");
}

TEST_CASE("a node written out: what is wrong, at its place") {
  const auto mutate = [](const std::string& pointer, const std::string& replacement) {
    return error_of(mutated(kSmall, {"", pointer, replacement}));
  };
  CHECK(
      mutate("/node/vertices/3/rail", "1")
          .find(
              "/node/vertices/4: other NICs have a rail: expected one on every NIC, or on none") !=
      std::string::npos);
  CHECK(
      mutate("/node/vertices/0/rail", "5").find("/node/vertices/0: it reaches no NIC of rail 5") !=
      std::string::npos);
  CHECK(mutate("/node/vertices/2/forwards", "false").find("it reaches no NIC through vertices") !=
        std::string::npos);
  const std::string gaps = mutated(kSmall, {"", "/node/vertices/3/rail", "0"});
  CHECK(error_of(mutated(gaps, {"", "/node/vertices/4/rail", "3"}))
            .find("rails are numbered from 0 without gaps: expected 0 to 1, got 3") !=
        std::string::npos);
  CHECK(mutate("/node/cables/1", R"({"between": ["gpu0", "cpu1"], "kind": "pcie",
                                     "bandwidth": "1 GB/s", "latency": "1 us"})")
            .find("no vertex \"cpu1\"; did you mean \"cpu0\"?") != std::string::npos);
  CHECK(mutate("/node/vertices/4/kind", "\"leaf\"").find("no kind of vertex named \"leaf\"") !=
        std::string::npos);
  CHECK(mutate("/fabric", "")
            .find("/nodes: this cluster has no fabric to join 2 nodes: 1 is possible") !=
        std::string::npos);
  // Three NICs on two rails.
  const std::string third = mutated(
      mutated(mutated(mutated(kSmall, {"", "/node/vertices/5",
                                       R"({"id": "nic2", "kind": "nic", "rail": 1})"}),
                      {"", "/node/cables/5", R"({"between": ["nic2", "cpu0"], "kind": "pcie",
                                                 "bandwidth": "1 GB/s", "latency": "1 us"})"}),
              {"", "/node/vertices/3/rail", "0"}),
      {"", "/node/vertices/4/rail", "1"});
  CHECK(error_of(third).find("/fabric: \"rail_optimised\" wants as many NICs of a node on every "
                             "rail; rail 0 has 1, rail 1 has 2") != std::string::npos);
  CHECK(error_of(mutated(third, {"", "/fabric/builder", "\"fat_tree\""})) == "accepted");
  CHECK(error_of(kSmall, ranks(3)).find("a node has 2 GPUs: expected 1 to 2, or a multiple such") !=
        std::string::npos);
}

TEST_CASE("the schema and the reader refuse the same nodes") {
  const SchemaAgreement agreement{
      kConfigs + "/schema/cluster.schema.json",
      [](std::string_view text) { (void)read_cluster(parse_json(text, "c.json")); }};
  CHECK(agreement.verdict(kSmall) == "both accept");
  const std::vector<Mutation> refused{
      {"no vertices", "/node/vertices", "[]"},
      {"no cables", "/node/cables", ""},
      {"switch of a fabric", "/node/vertices/4/kind", "\"leaf\""},
      {"a host", "/node/vertices/4/kind", "\"host\""},
      {"node of a vertex", "/node/vertices/0/node", "0"},
      {"negative rail", "/node/vertices/3/rail", "-1"},
      {"no nodes", "/nodes", ""},
      {"zero nodes", "/nodes", "0"},
      {"ranks", "/ranks", "4"},
      {"fabric of nodes", "/fabric/builder", "\"dgx_h100\""},
      {"transport without a source", "/fabric/transport", R"({"name": "efa", "latency": "20 us"})"},
      {"unknown transport", "/fabric/transport",
       R"({"name": "myrinet", "latency": "20 us", "source": "x"})"},
      {"both", "/graph", R"({"vertices": [{"id": "a", "kind": "gpu"}], "cables": []})"},
      {"source a number", "/node/vertices/0/source", "1"},
      {"no GPUs", "/node", R"({"vertices": [{"id": "a", "kind": "cpu"}], "cables": []})"}};
  for (const Mutation& mutation : refused) {
    CAPTURE(mutation.name);
    CHECK(agreement.verdict(mutated(kSmall, mutation)) == "both refuse");
  }
  CHECK(agreement.verdict(mutated(kSmall, {"", "/summary", "\"text\""})) == "both accept");
  CHECK(agreement.verdict(mutated(mutated(kSmall, {"", "/fabric", ""}), {"", "/nodes", "1"})) ==
        "both accept");
}

}  // namespace
}  // namespace lockstep
