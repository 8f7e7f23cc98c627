#include "strategies/measure/machine/machine_links.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/execute/command_graph/backend.hpp"
#include "topologies/analysis/analysis.hpp"
#include "topologies/graph/gpu_links.hpp"
#include "topologies/graph/nodes.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {

namespace {

/// "NVIDIA H100 80GB HBM3": nvidia, h100, 80gb, hbm3.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> out;
  std::string word;
  for (const char each : std::string{text} + " ") {
    const auto letter = static_cast<unsigned char>(each);
    if (std::isalnum(letter) != 0) {
      word += static_cast<char>(std::tolower(letter));
    } else if (!word.empty()) {
      out.insert(std::exchange(word, {}));
    }
  }
  return out;
}

using Path = MachineLinkUse::Path;

/// Between two GPUs that NVLink joins; else none.
std::optional<Path> path_of(const Cluster& cluster, const Router& router, const MachineLink& pair) {
  Route route;
  const auto from = static_cast<EndpointId>(pair.from);
  if (!router.route(from, static_cast<EndpointId>(pair.to), route)) return std::nullopt;
  const bool nvlink = std::all_of(route.hops.begin(), route.hops.end(), [&](const Hop& hop) {
    return cluster.link(hop.link).kind == LinkKind::nvlink;
  });
  const auto limit = bottleneck(cluster, route);
  if (!nvlink || !limit) return std::nullopt;
  return Path{limit->rate, route.latency};
}

struct Pair {
  MachineLink measured;
  Path built;
};

/// The machine's pairs that a node has, over NVLink.
std::vector<Pair> pairs_of(const MachineFit& fit, const Cluster& cluster) {
  std::vector<Pair> out;
  const auto router = make_router(cluster);
  const int gpus = ranks_of_node(cluster, 0);
  for (const MachineLink& link : fit.links.pairs) {
    if (link.from >= gpus || link.to >= gpus) continue;
    if (const auto path = path_of(cluster, *router, link)) out.push_back({link, *path});
  }
  return out;
}

/// Latencies stay where copies between GPUs start no later than those within one.
GpuLinkFactors factors_of(const std::vector<Pair>& pairs, Duration start) {
  std::vector<double> bandwidth;
  std::vector<double> latency;
  for (const auto& [measured, built] : pairs) {
    bandwidth.push_back(measured.bandwidth.bytes_per_second() / built.rate.bytes_per_second());
    if (measured.latency > start && built.latency > Duration{})
      latency.push_back((measured.latency - start).seconds() / built.latency.seconds());
  }
  const bool most = 2 * latency.size() > pairs.size();
  return {median(bandwidth), most ? median(latency) : 1};
}

MachineLinkUse measured_use(const std::vector<Pair>& pairs, const Cluster& cluster) {
  const auto slower = [](const Pair& a, const Pair& b) {
    return a.measured.bandwidth < b.measured.bandwidth;
  };
  const auto [least, most] = std::minmax_element(pairs.begin(), pairs.end(), slower);
  const Pair& first = pairs.front();
  const auto path = path_of(cluster, *make_router(cluster), first.measured);
  MachineLinkUse out;
  out.from = first.measured.from;
  out.to = first.measured.to;
  out.now = path.value_or(first.built);
  out.before = first.built;
  out.pairs = pairs.size();
  out.slowest = least->measured.bandwidth;
  out.fastest = most->measured.bandwidth;
  return out;
}

}  // namespace

bool is_of_kind(const MeasuredMachine& machine, const Device& device) {
  const auto box_words = words_of(machine.device);
  const auto id_words = words_of(device.id);
  for (const char* form : {"pcie", "nvl"}) {
    if (box_words.count(form) != id_words.count(form)) return false;
  }
  const std::string model = device.id.substr(0, device.id.find('-'));
  return box_words.count(model) == 1 && device.multiprocessors == machine.fit.model.multiprocessors;
}

ClusterOfMachine with_links_of(const MeasuredMachine& machine, const Cluster& cluster,
                               const Device& device) {
  using Kind = MachineLinkUse::Kind;
  const auto unchanged = [&](Kind kind) {
    MachineLinkUse use{kind};
    use.measured_device = machine.device;
    use.device = device.id;
    return ClusterOfMachine{cluster, std::move(use)};
  };
  if (machine.backend == "host") return unchanged(Kind::host);
  if (!is_of_kind(machine, device)) return unchanged(Kind::other_device);
  if (machine.fit.links.pairs.empty()) return unchanged(Kind::one_gpu);
  const std::vector<Pair> pairs = pairs_of(machine.fit, cluster);
  if (pairs.empty()) return unchanged(Kind::no_nvlink);
  Cluster out = with_gpu_links(cluster, factors_of(pairs, machine.fit.empty_copy));
  MachineLinkUse use = measured_use(pairs, out);
  use.measured_device = machine.device;
  use.device = device.id;
  return {std::move(out), std::move(use)};
}

}  // namespace lockstep
