#include "tests/tools/bounds/random_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lockstep::test {
namespace {

using app::ClusterRequest;

class GraphText {
 public:
  explicit GraphText(Draw& draw) : draw_{draw} {}

  std::string run() {
    add_vertex("top", "leaf", -1);
    const auto nodes = static_cast<int>(draw_.number(1, 4));
    for (int node = 0; node < nodes; ++node) add_node(node);
    return fmt::format(
        R"({{"name": "random", "device": "v100-sxm2-32gb", "graph": {{"vertices": [{}], "cables": [{}]}}}})",
        vertices_, cables_);
  }

 private:
  void add_vertex(const std::string& id, const char* kind, int node) {
    const std::string in_node = node < 0 ? "" : fmt::format(R"(, "node": {})", node);
    vertices_ += fmt::format(R"({}{{"id": "{}", "kind": "{}"{}}})", vertices_.empty() ? "" : ", ",
                             id, kind, in_node);
  }

  void add_cable(const std::string& a, const std::string& b, const char* kind) {
    constexpr std::array kBandwidths = {"1 GB/s", "7 GB/s", "9999 MB/s", "50 GB/s", "333 GB/s"};
    constexpr std::array kLatencies = {"0 ns", "1 ns", "350 ns", "2 us"};
    constexpr std::array kEfficiencies = {"1.0", "0.8", "0.333"};
    cables_ += fmt::format(
        R"({}{{"between": ["{}", "{}"], "kind": "{}", "bandwidth": "{}", "latency": "{}", )"
        R"("efficiency": {}, "source": "a draw"}})",
        cables_.empty() ? "" : ", ", a, b, kind, draw_.of(kBandwidths), draw_.of(kLatencies),
        draw_.of(kEfficiencies));
  }

  void add_node(int node) {
    const auto gpus = static_cast<int>(draw_.number(1, 4));
    const bool with_nic = !draw_.one_in(3);
    const std::string cpu = fmt::format("n{}/cpu", node);
    if (with_nic) {
      add_vertex(cpu, "cpu", node);
      for (std::int64_t nic = draw_.number(1, 2); nic > 0; --nic) {
        const std::string name = fmt::format("n{}/nic{}", node, nic);
        add_vertex(name, "nic", node);
        add_cable(cpu, name, "pcie");
        add_cable(name, "top", "network");
      }
    }
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const std::string name = fmt::format("n{}/gpu{}", node, gpu);
      add_vertex(name, "gpu", node);
      add_cable(name, with_nic ? cpu : "top", with_nic ? "pcie" : "network");
      if (gpu > 0 && draw_.one_in(2))
        add_cable(name, fmt::format("n{}/gpu{}", node, gpu - 1), "nvlink");
    }
  }

  Draw& draw_;
  std::string vertices_;
  std::string cables_;
};

std::string random_settings(Draw& draw) {
  constexpr std::array kSettings = {"bandwidth=1%", "bandwidth=50%", "bandwidth=3 GB/s",
                                    "latency=5 us", "bandwidth=200%"};
  return draw.of(kSettings);
}

}  // namespace

std::string random_graph(Draw& draw) {
  return GraphText{draw}.run();
}

ClusterRequest random_shipped(Draw& draw) {
  struct Shipped {
    const char* name;
    int most_ranks;  // 0: sized by nodes
  };
  constexpr std::array kShipped = {
      Shipped{"star", 12},     Shipped{"ring", 9},      Shipped{"full-mesh", 6},
      Shipped{"fat-tree", 12}, Shipped{"dgx1", 0},      Shipped{"fat-tree-2to1", 24},
      Shipped{"pcie-box", 0},  Shipped{"summit", 0},    Shipped{"dgx-h100", 0},
      Shipped{"dgx-a100", 0},  Shipped{"dragonfly", 16}};
  const Shipped& shipped = draw.of(kShipped);
  ClusterRequest out;
  out.cluster = shipped.name;
  if (shipped.most_ranks > 0) out.ranks = static_cast<int>(draw.number(1, shipped.most_ranks));
  if (out.cluster == "summit" || out.cluster == "dgx-h100")
    out.nodes = static_cast<int>(draw.number(1, 2));
  if (draw.one_in(4)) out.routes = "ecmp";
  return out;
}

void fail_links(const Cluster& cluster, Draw& draw, ClusterRequest& options) {
  const auto links = static_cast<std::int64_t>(cluster.link_count());
  for (std::int64_t left = draw.number(0, 3); left > 0 && links > 0; --left) {
    const std::string link = cluster.link_name(static_cast<LinkId>(draw.number(0, links - 1)));
    if (draw.one_in(4)) {
      options.failed.push_back(link);
    } else {
      options.set_links.emplace_back(link, random_settings(draw));
    }
  }
  std::erase_if(options.set_links, [&options](const auto& of) {  // would be refused
    return std::find(options.failed.begin(), options.failed.end(), of.first) !=
           options.failed.end();
  });
}

}  // namespace lockstep::test
