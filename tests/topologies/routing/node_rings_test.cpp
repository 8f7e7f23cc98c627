#include "topologies/routing/node_rings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topologies/failures/link_changes.hpp"
#include "topologies/files/cluster_file.hpp"

namespace lockstep {

namespace {

Cluster shipped(const std::string& name) {
  return load_cluster(std::string{LOCKSTEP_SOURCE_DIR} + "/configs/clusters/" + name + ".json")
      .cluster;
}

}  // namespace

TEST_CASE("a DGX-1V has three cycles along its NVLinks, and no GPU's six links are used twice") {
  // 16 pairs with 24 links among 8 GPUs (Li et al., arXiv:1903.04611, figure 1): three cycles of 8.
  const auto rings = nvlink_rings(shipped("dgx1"));
  REQUIRE(rings.size() == 3);
  // The pairs that two links join.
  const std::vector<std::pair<int, int>> twice{{0, 3}, {0, 4}, {1, 2}, {1, 5},
                                               {2, 3}, {4, 7}, {5, 6}, {6, 7}};
  const std::vector<std::pair<int, int>> once{{0, 1}, {0, 2}, {1, 3}, {2, 6},
                                              {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  std::map<std::pair<int, int>, int> used;
  for (const std::vector<int>& ring : rings) {
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int a = ring[i];
      const int b = ring[(i + 1) % ring.size()];
      ++used[{std::min(a, b), std::max(a, b)}];
    }
  }
  for (const auto& [pair, times] : used) {
    const bool is_twice = std::find(twice.begin(), twice.end(), pair) != twice.end();
    const bool is_once = std::find(once.begin(), once.end(), pair) != once.end();
    CHECK((is_twice || is_once));
    CHECK(times <= (is_twice ? 2 : 1));
  }
}

TEST_CASE("cycles go round an NVLink that has failed, and bear one that is all but gone") {
  // GPU 0 then has five links: two cycles at the most.
  LinkChange change;
  change.links = "node0/gpu0--node0/gpu1";
  change.failed = true;
  const auto rings = nvlink_rings(change_links(shipped("dgx1"), {&change, 1}).cluster);
  REQUIRE(rings.size() == 2);
  for (const std::vector<int>& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) CHECK(ring[i] + ring[(i + 1) % ring.size()] > 1);
  change.failed = false;
  change.bandwidth_factor = 1e-9;
  CHECK_FALSE(nvlink_rings(change_links(shipped("dgx1"), {&change, 1}).cluster).empty());
}

TEST_CASE("cycles of some GPUs of a node use the links among these alone") {
  // Four of a full mesh of eight: three links each, one cycle of four.
  const Cluster mesh = shipped("mi300x-box");
  const std::vector<EndpointId> four{1, 2, 5, 7};
  const auto rings = nvlink_rings(mesh, four);
  REQUIRE(rings.size() == 1);
  std::vector<int> sorted = rings.front();
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<int>{0, 1, 2, 3});
  // GPUs 0 to 3 of a DGX-1V have 4, 4, 5 and 5 links among them: two cycles. 0, 1, 4 and 5 have two
  // pairs, 0-4 and 1-5, and two links, 0-1 and 4-5: one.
  const Cluster dgx1 = shipped("dgx1");
  CHECK(nvlink_rings(dgx1, std::vector<EndpointId>{0, 1, 2, 3}).size() == 2);
  CHECK(nvlink_rings(dgx1, std::vector<EndpointId>{0, 1, 4, 5}).size() == 1);
  CHECK(nvlink_rings(dgx1, std::vector<EndpointId>{0, 1, 6}).empty());  // no link of 0 or 1 to 6
}

TEST_CASE(
    "paths through a full mesh of eight begin at every GPU and use every link once each way") {
  const Cluster mesh = shipped("mi300x-box");
  const auto paths = nvlink_paths(mesh, std::vector<EndpointId>{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(paths.size() == 8);
  std::map<std::pair<int, int>, int> used;
  for (std::size_t first = 0; first < 8; ++first) {
    const std::vector<int>& path = paths[first];
    CHECK(path.front() == static_cast<int>(first));
    std::vector<int> sorted = path;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    for (std::size_t i = 0; i + 1 < path.size(); ++i) ++used[{path[i], path[i + 1]}];
    // The other way round it is the path that begins where it ends.
    std::vector<int> back = path;
    std::reverse(back.begin(), back.end());
    CHECK(back == paths[static_cast<std::size_t>(path.back())]);
  }
  CHECK(used.size() == 56);
  for (const auto& [pair, times] : used) CHECK(times == 1);
}

TEST_CASE("paths through a DGX-1V are its three cycles, opened, each both ways") {
  const Cluster dgx1 = shipped("dgx1");
  const auto paths = nvlink_paths(dgx1, std::vector<EndpointId>{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(paths.size() == 6);
  const auto rings = nvlink_rings(dgx1);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::vector<int> path = paths[i];
    if (i % 2 == 1) std::reverse(path.begin(), path.end());
    const auto start = std::find(path.begin(), path.end(), rings[i / 2].front());
    std::rotate(path.begin(), start, path.end());
    CHECK(path == rings[i / 2]);
  }
  CHECK(nvlink_paths(shipped("dgx-a100"), std::vector<EndpointId>{0, 1, 2, 3}).empty());
}

TEST_CASE("where a switch joins the GPUs, or no cycle passes all of them, there are none") {
  CHECK(nvlink_rings(shipped("dgx-a100")).empty());
  CHECK(nvlink_rings(shipped("summit")).empty());  // two sockets, joined by their CPUs alone
  CHECK(nvlink_rings(shipped("pcie-box")).empty());
}

}  // namespace lockstep
