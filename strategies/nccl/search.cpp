#include "strategies/nccl/search.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/base/math.hpp"

namespace lockstep {
namespace {

/// Lower speeds than this part of the best one are not tried.
constexpr double kLeastOfBest = 0.49;

std::int64_t times_in(Rate speed, Rate link) {
  return static_cast<std::int64_t>(link.steps() / speed.steps());
}

std::int64_t times_in(Rate speed, const std::vector<Rate>& links) {
  std::int64_t times = 0;
  for (const Rate link : links) times += times_in(speed, link);
  return times;
}

/// How many channels of that speed every GPU can pass on inside its node.
std::int64_t fit_inside(const NcclNode& node, Rate speed, std::int64_t most) {
  if (node.nvlinks.empty()) return node.pcie_ring ? times_in(speed, *node.pcie_ring) : most;
  std::int64_t least = most;
  for (const auto& links : node.nvlinks) least = std::min(least, times_in(speed, links));
  return least;
}

/// Of n channels between nodes, every GPU is the last of n/gpus, which it sends to its NIC and not
/// over NVLink; that is how 8 channels of 48 GB/s fit 370.8 GB/s of NVLink.
std::int64_t fit_between(const NcclNode& node, Rate speed, std::int64_t most) {
  const std::int64_t inside = fit_inside(node, speed, most);
  std::int64_t channels = std::min(times_in(speed, node.nics), most);
  const bool passes_on = !node.nvlinks.empty();
  while (channels > 0 && channels - (passes_on ? channels / node.gpus : 0) > inside) --channels;
  return channels;
}

double total(const NcclGraph& graph) {
  return graph.channels * graph.intra.bytes_per_second();
}

/// From fast to slow; what carries more in all is better.
template <class Fit>
NcclGraph search(const std::vector<Rate>& speeds, Fit fit) {
  NcclGraph best;
  for (const Rate speed : speeds) {
    const bool too_slow = speed.bytes_per_second() <= kLeastOfBest * best.intra.bytes_per_second();
    if (best.channels > 0 && too_slow) break;
    const NcclGraph found{static_cast<int>(fit(speed)), speed, speed};
    if (found.channels > 0 && (best.channels == 0 || total(found) > total(best))) best = found;
  }
  return best;
}

/// Fast channels become two of half the speed.
NcclGraph split(NcclGraph graph, const NcclLadder& ladder, std::int64_t most) {
  if (graph.channels == 0 || graph.intra < ladder.split_from) return graph;
  const auto channels = static_cast<int>(std::min(std::int64_t{2} * graph.channels, most));
  const int parts = ceil_div(channels, graph.channels);
  const Rate speed = graph.intra.scaled(1.0 / parts);
  return {channels, speed, speed};
}

Rate slowest(const std::vector<Rate>& rates) {
  return *std::min_element(rates.begin(), rates.end());
}

}  // namespace

NcclGraph search_rings(const NcclLadder& ladder, const NcclChannelCounts& counts,
                       const NcclNode& node, bool several_nodes) {
  const std::int64_t most = counts.most_found;
  const auto fit = [&](Rate speed) {
    return several_nodes ? fit_between(node, speed, most) : fit_inside(node, speed, most);
  };
  return split(search(several_nodes ? ladder.inter : ladder.intra, fit), ladder, most);
}

NcclGraph search_nvls(const NcclLadder& ladder, const NcclChannelCounts& counts,
                      const NcclNode& node, bool several_nodes) {
  if (!node.nvswitch || node.gpus < 2 || (several_nodes && node.nics.empty())) return {};
  const std::int64_t wanted =
      several_nodes ? static_cast<std::int64_t>(node.nics.size()) : node.gpus;
  const std::int64_t heads = std::min(wanted, counts.most_found);
  // Every channel passes every GPU's links once, and those of the GPU that adds up once more.
  return search(several_nodes ? ladder.inter : ladder.intra, [&](Rate speed) -> std::int64_t {
    const bool fits = fit_inside(node, speed, INT64_MAX) > heads &&
                      (!several_nodes || speed <= slowest(node.nics));
    return fits ? heads : 0;
  });
}

int channels_used(const NcclChannelCounts& counts, const NcclGraph& rings,
                  NcclArchitecture architecture, bool several_nodes) {
  std::int64_t used = std::min(counts.factor * rings.channels, counts.most_used);
  const bool doubled = several_nodes && architecture >= counts.double_from &&
                       rings.intra > counts.double_above && used < counts.double_below;
  if (doubled) used = std::min(2 * used, counts.most_used);
  return static_cast<int>(std::max<std::int64_t>(used, 1));
}

}  // namespace lockstep
