#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/run_command.hpp"

/// Clusters whose nodes differ in size, and single ranks.
namespace lockstep {

namespace {

/// Nodes of so many GPUs: each GPU and one NIC on the node's CPU, the NICs on one switch; no
/// latency.
std::string cluster_text(const std::vector<int>& sizes, const std::string& network = "1 GB/s") {
  std::string vertices = R"({"id": "sw", "kind": "leaf"})";
  std::string cables;
  const auto cable = [&](const std::string& a, const std::string& b, const std::string& kind,
                         const std::string& bandwidth) {
    cables += fmt::format(
        R"({}{{"between": ["{}", "{}"], "kind": "{}", "bandwidth": "{}", "latency": "0 ns"}})",
        cables.empty() ? "" : ", ", a, b, kind, bandwidth);
  };
  for (std::size_t node = 0; node < sizes.size(); ++node) {
    for (const char* kind : {"cpu", "nic"})
      vertices += fmt::format(R"(, {{"id": "{0}{1}", "kind": "{0}", "node": {1}}})", kind, node);
    for (int gpu = 0; gpu < sizes[node]; ++gpu) {
      vertices += fmt::format(R"(, {{"id": "n{0}g{1}", "kind": "gpu", "node": {0}}})", node, gpu);
      cable(fmt::format("n{}g{}", node, gpu), fmt::format("cpu{}", node), "pcie", "100 GB/s");
    }
    cable(fmt::format("cpu{}", node), fmt::format("nic{}", node), "pcie", "100 GB/s");
    cable(fmt::format("nic{}", node), "sw", "network", network);
  }
  return fmt::format(
      R"({{"name": "uneven", "device": "h100-sxm5-80gb", "graph": {{"vertices": [{}], "cables": [{}]}}}})",
      vertices, cables);
}

const std::vector<std::string> kCollectives{
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
    "scatter",    "gather",         "all_to_all", "send_recv", "barrier"};

}  // namespace

TEST_CASE("the node of every rank is the cluster's, not ranks over nodes") {
  const TemporaryFile file(cluster_text({7, 1}));
  const auto shown = rows_of("lockstep topology show --cluster " + file.path()).at(0);
  CHECK(shown.at("gpus_per_node").is_null());
  CHECK(shown.at("smallest_node_ranks") == 1);
  CHECK(shown.at("largest_node_ranks") == 7);
  CHECK(contains(output_of("lockstep topology show --cluster " + file.path()), "1 to 7"));
  // Both ways 7/8 of 64 MiB cross a NIC of 1 GB/s: 58,720.256 us, and no algorithm takes less.
  const auto row =
      rows_of("lockstep collective all_to_all --algorithm direct --size 64M --cluster " +
              file.path())
          .at(0);
  CHECK(row.at("bound_s").get<double>() == doctest::Approx(0.058720256).epsilon(1e-9));
  CHECK(row.at("time_s").get<double>() >= row.at("bound_s").get<double>());
}

TEST_CASE("algorithms that need equal nodes are refused where nodes differ, with the reason") {
  const TemporaryFile file(cluster_text({1, 3}));
  for (const std::string algorithm : {"hierarchical", "blueconnect", "torus"}) {
    const CommandResult result = run_command("lockstep explain all_reduce --algorithm " +
                                             algorithm + " --size 1M --cluster " + file.path());
    INFO(algorithm, result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "nodes have 1 to 3 ranks"));
  }
  const CommandResult result = run_command(
      "lockstep collective all_to_all --algorithm hierarchical --size 1M --cluster " + file.path());
  CHECK(result.status == 2);
  CHECK(contains(result.err, "nodes have 1 to 3 ranks"));
  // Groups that are asked for are groups of consecutive ranks, wherever they sit.
  CHECK(
      run_command("lockstep collective all_reduce --algorithm hierarchical:group=2,torus:dims=2x2 "
                  "--size 1M --check --cluster " +
                  file.path())
          .status == 0);
}

TEST_CASE("what NCCL would pick can be played on nodes that differ in size") {
  const TemporaryFile file(cluster_text({1, 3, 5, 4}));
  for (const std::string size : {"8", "4K", "256K"}) {
    const CommandResult result = run_command(
        "lockstep collective all_reduce,all_gather,reduce_scatter,broadcast --algorithm "
        "auto:by=nccl "
        "--check --size " +
        size + " --cluster " + file.path());
    INFO(size, result.err);
    CHECK(result.status == 0);
  }
}

TEST_CASE("random clusters of nodes that differ in size play every collective") {
  std::mt19937_64 random(17);  // its raw numbers are the same everywhere
  for (int trial = 0; trial < (kSanitized ? 3 : 12); ++trial) {
    std::vector<int> sizes(1 + random() % 5);
    for (int& size : sizes) size = static_cast<int>(1 + random() % 6);
    const TemporaryFile file(cluster_text(sizes));
    const std::string on = " --cluster " + file.path();
    std::string all;
    for (const std::string& each : kCollectives) all += (all.empty() ? "" : ",") + each;
    for (const std::string& command :
         {"lockstep collective " + all + " --algorithm all --check --size 10000" + on,
          "lockstep collective all_reduce,all_to_all --algorithm auto --size 300" + on,
          "lockstep explain gather --algorithm direct --size 10000" + on,
          "lockstep topology show" + on}) {
      const CommandResult result = run_command(command);
      INFO(fmt::format("{}", fmt::join(sizes, " ")), command, result.err);
      CHECK(result.status == 0);
    }
  }
}

TEST_CASE("a rank alone plays every collective on every topology") {
  const TemporaryFile torus(
      R"({"name": "one", "device": "host", "topology": {"builder": "torus_2d", "shape": [1, 1],
          "link": {"bandwidth": "25 GB/s", "latency": "1 us"}}})");
  for (const std::string& cluster :
       {std::string{"ring --ranks 1"}, std::string{"full-mesh --ranks 1"},
        std::string{"hypercube --ranks 1"}, torus.path()}) {
    for (const std::string& collective : kCollectives) {
      const CommandResult result = run_command("lockstep collective " + collective +
                                               " --algorithm all --size 1M --cluster " + cluster);
      INFO(cluster, " ", collective, " ", result.err);
      CHECK(result.status == 0);
    }
  }
}

TEST_CASE("links too slow for those that share them are refused") {
  const CommandResult least = run_command(
      "lockstep collective all_reduce --algorithm direct --size 8 --set-link leaf0 "
      "\"bandwidth=0.00002 B/s\"");
  CHECK(least.status == 2);
  CHECK(contains(least.err, "expected at least 1 B/s"));
  const TemporaryFile file(cluster_text({2, 3}, "0.5 B/s"));
  const CommandResult written = run_command("lockstep topology show --cluster " + file.path());
  CHECK(written.status == 2);
  CHECK(contains(written.err, "expected at least 1 B/s"));
}

}  // namespace lockstep
