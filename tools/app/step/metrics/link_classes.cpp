#include "tools/app/step/metrics/link_classes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep::app {

std::vector<LinkClass> link_classes(const std::vector<Bytes>& carried, Duration step,
                                    const Cluster& cluster) {
  std::map<std::tuple<VertexKind, VertexKind, Rate>, LinkClass> classes;
  const std::size_t links = std::min(carried.size(), cluster.link_count());
  for (std::size_t i = 0; i < links; ++i) {
    if (carried[i].count() == 0) continue;
    const auto id = static_cast<LinkId>(i);
    const ClusterLink link = cluster.link(id);
    const Rate rate = link.figures.carried();
    const VertexKind from = cluster.vertex(link.from).kind;
    const VertexKind to = cluster.vertex(link.to).kind;
    LinkClass& of = classes[{from, to, rate}];
    const double seconds = static_cast<double>(carried[i].count()) / rate.bytes_per_second();
    // Whole picoseconds of messages may sum to slightly more than the step.
    const double busy = step > Duration{} ? std::min(1.0, seconds / step.seconds()) : 0;
    if (of.links == 0 || busy > of.busiest) of.example = cluster.link_name(id);
    of.name = std::string{to_string(from)} + " -> " + std::string{to_string(to)};
    of.bandwidth = rate;
    of.busiest = std::max(of.busiest, busy);
    of.mean += busy;
    ++of.links;
  }
  std::vector<LinkClass> out;
  for (auto& [key, of] : classes) {
    of.mean /= static_cast<double>(of.links);
    out.push_back(std::move(of));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LinkClass& a, const LinkClass& b) { return a.busiest > b.busiest; });
  return out;
}

}  // namespace lockstep::app
