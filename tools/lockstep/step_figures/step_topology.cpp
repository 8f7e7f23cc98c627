#include "tools/lockstep/step_figures/step_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tools/app/step/metrics/link_classes.hpp"
#include "tools/figures/axis.hpp"
#include "topologies/analysis/analysis.hpp"

namespace lockstep::cli {

namespace {

/// From the GPUs outwards, as VertexKind: hosts and GPUs at the bottom, core switches on top.
constexpr std::array<int, kVertexKindNames.size()> kLevels = {0, 0, 1, 1, 1, 2, 3, 4, 5};

std::string words_of(std::string_view kind) {
  std::string out{kind};
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

using KindIndex = std::array<std::size_t, kVertexKindNames.size()>;

/// Links between kinds that carry nothing in either direction, one line for both.
void add_idle(const Cluster& cluster, const KindIndex& index,
              std::vector<figures::TopologyLinks>& links) {
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const ClusterLink link = cluster.built_link(static_cast<LinkId>(i));
    const VertexKind from = cluster.vertex(link.from).kind;
    const VertexKind to = cluster.vertex(link.to).kind;
    const std::size_t a = index.at(static_cast<std::size_t>(from));
    const std::size_t b = index.at(static_cast<std::size_t>(to));
    const bool known = std::ranges::any_of(links, [&](const figures::TopologyLinks& each) {
      return (each.from == a && each.to == b) || (each.from == b && each.to == a);
    });
    if (known) continue;
    links.push_back(
        {a, b, 0, 0, fmt::format("{} -> {}: no traffic", to_string(from), to_string(to))});
  }
}

/// "gpu -> nvswitch" to the two kinds.
std::array<std::string, 2> ends_of(const std::string& links) {
  const std::size_t arrow = links.find(" -> ");
  return {links.substr(0, arrow), links.substr(arrow + 4)};
}

}  // namespace

figures::TopologyFigure topology_of(const TrainingStepResult& result, figures::Heading heading) {
  const Cluster& cluster = result.scenario.cluster.cluster;
  figures::TopologyFigure out{std::move(heading), {}, {}, {}};
  const Census census = take_census(cluster);
  KindIndex index{};
  for (std::size_t kind = 0; kind < census.vertices.size(); ++kind) {
    if (census.vertices[kind] == 0) continue;
    index[kind] = out.kinds.size();
    out.kinds.push_back({words_of(kVertexKindNames[kind]), census.vertices[kind], kLevels[kind]});
  }
  const auto index_of = [&](const std::string& name) {
    const auto* const found = std::ranges::find(kVertexKindNames, name);
    return index.at(static_cast<std::size_t>(found - kVertexKindNames.begin()));
  };
  for (const app::LinkClass& each : app::link_classes(
           result.step.timeline.link_bytes, result.step.timeline.end.since_start(), cluster)) {
    const auto [from, to] = ends_of(each.name);
    const std::string text = fmt::format(
        "{}: {} link{} with traffic of {}, busiest {}, mean {}", each.name, each.links,
        each.links == 1 ? "" : "s",
        figures::value_text(each.bandwidth.bytes_per_second(), figures::Unit::bytes_per_second, 4),
        figures::value_text(each.busiest, figures::Unit::share, 3),
        figures::value_text(each.mean, figures::Unit::share, 3));
    out.links.push_back({index_of(from), index_of(to), each.links, each.busiest, text});
  }
  // Of links of several bandwidths between two kinds, one line.
  std::vector<figures::TopologyLinks> joined;
  for (const figures::TopologyLinks& each : out.links) {
    const auto same = std::ranges::find_if(joined, [&](const figures::TopologyLinks& other) {
      return other.from == each.from && other.to == each.to;
    });
    if (same == joined.end()) {
      joined.push_back(each);
    } else {
      same->text += "; " + each.text;
      same->count += each.count;
      same->busiest = std::max(same->busiest, each.busiest);
    }
  }
  add_idle(cluster, index, joined);
  out.links = std::move(joined);
  out.notes.emplace_back(
      "Percentages: bytes of the busiest link / (bandwidth x step time), in each direction. The "
      "width of a line grows with it. Links without traffic are dashed.");
  return out;
}

}  // namespace lockstep::cli
