#include "topologies/blocks/nested_blocks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Switches that links of the levels so far, or nodes, connect.
class Connected {
 public:
  explicit Connected(std::size_t switches) : above_(switches) {
    std::iota(above_.begin(), above_.end(), VertexId{0});
  }
  void join(VertexId a, VertexId b) { above_[root(a)] = root(b); }
  VertexId root(VertexId v) {
    while (above_[v] != v) v = above_[v] = above_[above_[v]];
    return v;
  }

 private:
  std::vector<VertexId> above_;
};

/// A link as seen from its lower switch's group; whole planes and other groups see the same.
struct SeenLink {
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, LinkKind, Rate, Duration, double>
      looks;
  LinkId id = 0;
};

}  // namespace

NestedBlocks::NestedBlocks(const ClusterData& data) : data_{&data} {
  ranks_ = static_cast<std::uint32_t>(data.single_gpus() ? 1 : data.gpus.size());
  per_node_ = data.plane_terminals.front().size();
}

std::optional<NestedBlocks> NestedBlocks::find(const ClusterData& data) {
  if (data.planes == 0 || data.gpus.empty() || data.has_unequal_copies()) return std::nullopt;
  const std::size_t per_node = data.plane_terminals.front().size();
  for (const auto& terminals : data.plane_terminals)
    if (terminals.size() != per_node) return std::nullopt;
  if (per_node == 0 || data.fabric.switch_of.size() < 2 * per_node) return std::nullopt;
  NestedBlocks out{data};
  if (!out.find_levels() || !out.match_switches() || !out.match_links()) return std::nullopt;
  return out;
}

/// Groups of every kind of switches: what they and the kinds below connect.
bool NestedBlocks::find_levels() {
  const Graph& graph = *data_->fabric.plane;
  const std::vector<VertexId>& leaves = data_->fabric.switch_of;
  const std::size_t nodes = leaves.size() / per_node_;
  std::set<VertexKind> kinds;
  for (VertexId v = 0; v < vertex_count(graph); ++v) kinds.insert(graph[v].kind);
  for (const VertexId leaf : leaves)
    if (graph[leaf].kind != *kinds.begin()) return false;
  Connected connected{vertex_count(graph)};
  for (std::size_t t = 0; t < leaves.size(); ++t)
    connected.join(leaves[t], leaves[t - t % per_node_]);
  switches_.assign(vertex_count(graph), Place{kNone, 0, 0});
  for (const VertexKind kind : kinds) {
    for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink&) {
      if (std::max(graph[from].kind, graph[to].kind) == kind) connected.join(from, to);
    });
    std::vector<std::uint32_t> group(vertex_count(graph), kNone);
    std::uint32_t groups = 0;
    for (std::size_t n = 0; n < nodes; ++n)
      if (std::uint32_t& own = group[connected.root(leaves[n * per_node_])]; own == kNone)
        own = groups++;
    if (nodes % groups != 0) return false;
    const std::size_t size = nodes / groups;
    for (std::size_t n = 0; n < nodes; ++n)
      if (group[connected.root(leaves[n * per_node_])] != n / size) return false;
    for (VertexId v = 0; v < vertex_count(graph); ++v) {
      if (graph[v].kind != kind) continue;
      const std::uint32_t own = group[connected.root(v)];
      if (own == kNone) return false;
      switches_[v] = {static_cast<std::uint32_t>(levels_.size()), own, 0};
    }
    levels_.push_back({size, std::vector<std::vector<LinkId>>(groups)});
  }
  return levels_.back().links.size() == 1;
}

/// Numbers the switches of every group; whether groups have the same, and nodes the same leaves.
bool NestedBlocks::match_switches() {
  const Graph& graph = *data_->fabric.plane;
  const std::vector<VertexId>& leaves = data_->fabric.switch_of;
  std::vector<std::vector<std::vector<VertexId>>> in_group;
  for (const Level& level : levels_) in_group.emplace_back(level.links.size());
  for (VertexId v = 0; v < switches_.size(); ++v) {
    std::vector<VertexId>& own = in_group[switches_[v].level][switches_[v].group];
    switches_[v].number = static_cast<std::uint32_t>(own.size());
    own.push_back(v);
  }
  const auto alike = [&](VertexId a, VertexId b) { return graph[a].forwards == graph[b].forwards; };
  for (const auto& groups : in_group)
    for (const auto& own : groups)
      if (!std::ranges::equal(own, groups.front(), alike)) return false;
  for (std::size_t t = 0; t < leaves.size(); ++t)
    if (switches_[leaves[t]].number != switches_[leaves[t % per_node_]].number) return false;
  return true;
}

bool NestedBlocks::match_links() {
  const Graph& graph = *data_->fabric.plane;
  std::vector<std::vector<std::vector<SeenLink>>> seen;
  for (const Level& level : levels_) seen.emplace_back(level.links.size());
  for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink& link) {
    const bool up = switches_[from] <= switches_[to];
    const Place lower = switches_[up ? from : to];
    const Place upper = switches_[up ? to : from];
    const LinkFigures& figures = link.figures;
    seen[lower.level][lower.group].push_back(
        {{lower.number, upper.level, upper.number, up, link.kind, figures.bandwidth,
          figures.latency, figures.efficiency},
         link.id});
  });
  links_.resize(link_count(graph));
  for (std::uint32_t level = 0; level < levels_.size(); ++level) {
    for (std::uint32_t group = 0; group < seen[level].size(); ++group) {
      std::vector<SeenLink>& own = seen[level][group];
      std::ranges::sort(own, {}, [](const SeenLink& link) {
        return std::tuple{link.looks, link.id};
      });
      if (!std::ranges::equal(own, seen[level].front(), {}, &SeenLink::looks, &SeenLink::looks))
        return false;
      std::vector<LinkId>& ids = levels_[level].links[group];
      for (const SeenLink& link : own) {
        links_[link.id] = {level, group, static_cast<std::uint32_t>(ids.size())};
        ids.push_back(link.id);
      }
    }
  }
  return true;
}

bool NestedBlocks::may_exchange(std::size_t nodes, std::size_t blocks) const {
  return std::ranges::all_of(levels_, [&](const Level& level) {
    if (level.nodes <= nodes) return nodes % level.nodes == 0;
    const std::size_t span = level.nodes / nodes;
    return span >= blocks || (level.nodes % nodes == 0 && std::has_single_bit(span));
  });
}

std::optional<NestedBlocks::OfNodes> NestedBlocks::of_nodes(LinkId link) const {
  const std::size_t fabric = data_->first_plane_link();
  if (link < fabric) return OfNodes{0, data_->node_links()};
  const std::size_t in_plane = (link - fabric) % data_->plane_links();
  if (in_plane >= data_->host_links()) return std::nullopt;
  return OfNodes{static_cast<LinkId>(link - in_plane), 2 * per_node_};
}

std::size_t NestedBlocks::between_switches(LinkId link) const {
  return (link - data_->first_plane_link()) % data_->plane_links() - data_->host_links();
}

BlockLink NestedBlocks::place_of(LinkId link, std::size_t nodes) const {
  if (const auto of = of_nodes(link)) {
    const std::size_t links = of->links * nodes;
    const std::size_t block = (link - of->first) / links;
    return {static_cast<std::uint32_t>(block), static_cast<LinkId>(link - block * links)};
  }
  const std::size_t of_plane = between_switches(link);
  const Place& own = links_[of_plane];
  const Level& level = levels_[own.level];
  const auto at = [&](std::size_t first) {
    return static_cast<LinkId>(link - of_plane + level.links[first][own.number]);
  };
  if (level.nodes <= nodes) {
    const std::size_t groups = nodes / level.nodes;  // in a block
    return {static_cast<std::uint32_t>(own.group / groups), at(own.group % groups)};
  }
  const auto span = static_cast<std::uint32_t>(level.nodes / nodes);
  return {own.group * span, at(0), span};
}

LinkId NestedBlocks::link_at(const BlockLink& place, std::size_t nodes) const {
  if (const auto own = of_nodes(place.first))
    return static_cast<LinkId>(place.first + place.block * own->links * nodes);
  const std::size_t of_plane = between_switches(place.first);
  const auto [number, group, in_group] = links_[of_plane];
  const Level& level = levels_[number];
  const std::size_t image = level.nodes <= nodes ? group + place.block * (nodes / level.nodes)
                                                 : place.block / (level.nodes / nodes);
  return static_cast<LinkId>(place.first - of_plane + level.links[image][in_group]);
}

std::size_t NestedBlocks::neighbors(LinkId link, std::size_t nodes) const {
  const auto own = of_nodes(link);
  if (!own) return 1;
  const std::size_t links = own->links * nodes;
  return links - (link - own->first) % links;
}

}  // namespace lockstep
