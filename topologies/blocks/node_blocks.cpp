#include "topologies/blocks/node_blocks.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Trees of the plane without its top switches, numbered by their first terminals; kNone: a top
/// switch, or a tree without terminals. Empty where a terminal is cabled to a top switch.
class Trees {
 public:
  explicit Trees(const FabricBlueprint& fabric) : graph_{*fabric.plane} {
    above_.resize(vertex_count(graph_));
    std::iota(above_.begin(), above_.end(), VertexId{0});
    for (VertexId v = 0; v < above_.size(); ++v) top_ = std::max(top_, graph_[v].kind);
    for_each_link(graph_, [this](VertexId from, VertexId to, const GraphLink&) {
      if (!is_top(from) && !is_top(to)) above_[root(from)] = root(to);
    });
    std::vector<std::uint32_t> number(above_.size(), kNone);
    for (const VertexId leaf : fabric.switch_of) {
      if (is_top(leaf)) return;
      if (std::uint32_t& own = number[root(leaf)]; own == kNone) own = count_++;
    }
    for (VertexId v = 0; v < above_.size(); ++v)
      tree_of.push_back(is_top(v) ? kNone : number[root(v)]);
  }

  std::vector<std::uint32_t> tree_of;  // per switch

 private:
  [[nodiscard]] bool is_top(VertexId v) const { return graph_[v].kind == top_; }
  VertexId root(VertexId v) {
    while (above_[v] != v) v = above_[v] = above_[above_[v]];
    return v;
  }

  const Graph& graph_;
  VertexKind top_ = VertexKind::leaf_switch;
  std::vector<VertexId> above_;
  std::uint32_t count_ = 0;
};

/// A link as seen from its tree: switches by their turn in it, top switches by themselves.
struct SeenLink {
  std::tuple<std::size_t, std::size_t, LinkKind, Rate, Duration, double> looks;
  LinkId id = 0;
};

}  // namespace

NodeBlocks::NodeBlocks(const ClusterData& data, std::size_t nodes) : data_{&data}, nodes_{nodes} {
  const std::size_t gpus = data.single_gpus() ? 1 : data.gpus.size();
  ranks_ = static_cast<std::uint32_t>(nodes * gpus);
}

std::optional<NodeBlocks> NodeBlocks::find(const ClusterData& data) {
  if (data.planes == 0 || data.gpus.empty() || data.has_unequal_copies()) return std::nullopt;
  const std::size_t per_node = data.plane_terminals.front().size();
  for (const auto& terminals : data.plane_terminals)
    if (terminals.size() != per_node) return std::nullopt;
  const std::vector<VertexId>& leaves = data.fabric.switch_of;
  if (per_node == 0 || leaves.size() < 2 * per_node) return std::nullopt;
  if (std::ranges::all_of(leaves, [&](VertexId leaf) { return leaf == leaves.front(); }))
    return NodeBlocks{data, 1};
  const Trees trees{data.fabric};
  if (trees.tree_of.empty()) return std::nullopt;
  const auto first = static_cast<std::size_t>(
      std::ranges::count_if(leaves, [&](VertexId leaf) { return trees.tree_of[leaf] == 0; }));
  if (first % per_node != 0 || leaves.size() % first != 0 || leaves.size() == first)
    return std::nullopt;
  NodeBlocks out{data, first / per_node};
  if (!out.match_links(trees.tree_of)) return std::nullopt;
  return out;
}

/// Whether every tree is as the first one, switch by switch, terminal by terminal, link by link.
bool NodeBlocks::match_links(const std::vector<std::uint32_t>& tree_of) {
  const Graph& graph = *data_->fabric.plane;
  const std::size_t terminals = nodes_ * terminals_per_node();
  const std::vector<VertexId>& leaves = data_->fabric.switch_of;
  const std::size_t trees = leaves.size() / terminals;
  std::vector<std::vector<VertexId>> switches(trees);
  std::vector<std::size_t> turn(tree_of.size());
  for (VertexId v = 0; v < tree_of.size(); ++v) {
    turn[v] = tree_of.size() + v;
    if (tree_of[v] == kNone) continue;
    if (tree_of[v] >= trees) return false;
    turn[v] = switches[tree_of[v]].size();
    switches[tree_of[v]].push_back(v);
  }
  for (const auto& own : switches) {
    const auto alike = [&](VertexId a, VertexId b) {
      return graph[a].kind == graph[b].kind && graph[a].forwards == graph[b].forwards;
    };
    if (!std::ranges::equal(own, switches.front(), alike)) return false;
  }
  for (std::size_t t = 0; t < leaves.size(); ++t)
    if (tree_of[leaves[t]] != t / terminals || turn[leaves[t]] != turn[leaves[t % terminals]])
      return false;
  std::vector<std::vector<SeenLink>> seen(trees);
  for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink& link) {
    const std::uint32_t tree = tree_of[from] == kNone ? tree_of[to] : tree_of[from];
    if (tree == kNone) return;
    const LinkFigures& figures = link.figures;
    seen[tree].push_back(
        {{turn[from], turn[to], link.kind, figures.bandwidth, figures.latency, figures.efficiency},
         link.id});
  });
  for (VertexId v = 0; v < tree_of.size(); ++v) switches_.push_back({tree_of[v], turn[v]});
  number_.resize(link_count(graph));
  for (std::uint32_t tree = 0; tree < trees; ++tree) {
    std::ranges::sort(seen[tree], {}, [](const SeenLink& link) {
      return std::tuple{link.looks, link.id};
    });
    if (!std::ranges::equal(seen[tree], seen.front(), {}, &SeenLink::looks, &SeenLink::looks))
      return false;
    switch_links_.emplace_back();
    for (const SeenLink& link : seen[tree]) {
      number_[link.id] = {tree, static_cast<std::uint32_t>(switch_links_.back().size())};
      switch_links_.back().push_back(link.id);
    }
  }
  return true;
}

std::optional<BlockLink> NodeBlocks::place_of(LinkId link) const {
  const std::size_t fabric = data_->first_plane_link();
  if (link < fabric) {
    const std::size_t links = data_->node_links() * nodes_;
    return BlockLink{static_cast<std::uint32_t>(link / links), static_cast<LinkId>(link % links)};
  }
  const std::size_t in_plane = (link - fabric) % data_->plane_links();
  if (in_plane < data_->host_links()) {
    const std::size_t links = 2 * terminals_per_node() * nodes_;
    const std::size_t block = in_plane / links;
    return BlockLink{static_cast<std::uint32_t>(block), static_cast<LinkId>(link - block * links)};
  }
  const std::size_t own = in_plane - data_->host_links();
  if (number_.empty() || number_[own].block == kNone) return std::nullopt;
  const LinkId first = switch_links_.front()[number_[own].number];
  return BlockLink{number_[own].block, static_cast<LinkId>(link - own + first)};
}

std::size_t NodeBlocks::neighbors(LinkId link) const {
  const std::size_t fabric = data_->first_plane_link();
  if (link < fabric) {
    const std::size_t links = data_->node_links() * nodes_;
    return links - link % links;
  }
  const std::size_t in_plane = (link - fabric) % data_->plane_links();
  if (in_plane >= data_->host_links()) return 1;
  const std::size_t links = 2 * terminals_per_node() * nodes_;
  return links - in_plane % links;
}

std::optional<NodeBlocks::SwitchPlace> NodeBlocks::switch_place(VertexId of_plane) const {
  if (switches_.empty() || switches_[of_plane].block == kNone) return std::nullopt;
  return switches_[of_plane];
}

LinkId NodeBlocks::link_at(const BlockLink& place) const {
  const std::size_t fabric = data_->first_plane_link();
  if (place.first < fabric)
    return static_cast<LinkId>(place.first + place.block * data_->node_links() * nodes_);
  const std::size_t in_plane = (place.first - fabric) % data_->plane_links();
  if (in_plane < data_->host_links())
    return static_cast<LinkId>(place.first + place.block * 2 * terminals_per_node() * nodes_);
  const std::size_t own = in_plane - data_->host_links();
  return static_cast<LinkId>(place.first - own + switch_links_[place.block][number_[own].number]);
}

}  // namespace lockstep
