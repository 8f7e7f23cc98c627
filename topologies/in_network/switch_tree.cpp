#include "topologies/in_network/switch_tree.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool is_switch(VertexKind kind) {
  return kind == VertexKind::leaf_switch || kind == VertexKind::spine_switch ||
         kind == VertexKind::core_switch;
}

void sort_unique(std::vector<VertexId>& vertices) {
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
}

}  // namespace

SwitchGraph::SwitchGraph(const Graph& graph, const std::vector<bool>& failed)
    : neighbours_(vertex_count(graph)) {
  for (VertexId v = 0; v < vertex_count(graph); ++v) kinds_.push_back(graph[v].kind);
  std::vector<std::vector<VertexId>> reached(vertex_count(graph));
  for_each_link(graph, [&](VertexId from, VertexId to, const GraphLink& link) {
    const bool works = failed.empty() || !failed[link.id];
    if (works && is_switch(kinds_[from]) && is_switch(kinds_[to])) reached[from].push_back(to);
  });
  for (auto& of_one : reached) sort_unique(of_one);
  for (VertexId from = 0; from < reached.size(); ++from) {
    for (const VertexId to : reached[from]) {
      const bool back = std::binary_search(reached[to].begin(), reached[to].end(), from);
      if (back) neighbours_[from].push_back(to);
    }
  }
}

bool SwitchGraph::joined(VertexId a, VertexId b) const {
  return std::binary_search(neighbours_[a].begin(), neighbours_[a].end(), b);
}

std::optional<SwitchTree> SwitchGraph::tree_over(const std::vector<VertexId>& leaves) const {
  if (leaves.size() == 1) return SwitchTree{{leaves.front(), std::nullopt}};
  for (VertexId v = 0; v < kinds_.size(); ++v) {
    if (kinds_[v] != VertexKind::spine_switch) continue;
    if (auto tree = under_spine(v, leaves)) return tree;
  }
  for (VertexId v = 0; v < kinds_.size(); ++v) {
    if (kinds_[v] != VertexKind::core_switch) continue;
    if (auto tree = under_core(v, leaves)) return tree;
  }
  return std::nullopt;
}

std::optional<SwitchTree> SwitchGraph::under_spine(VertexId spine,
                                                   const std::vector<VertexId>& leaves) const {
  SwitchTree tree{{spine, std::nullopt}};
  for (const VertexId leaf : leaves) {
    if (!joined(leaf, spine)) return std::nullopt;
    tree[leaf] = spine;
  }
  return tree;
}

std::optional<SwitchTree> SwitchGraph::under_core(VertexId core,
                                                  const std::vector<VertexId>& leaves) const {
  SwitchTree tree{{core, std::nullopt}};
  for (const VertexId leaf : leaves) {
    const auto spine = spine_between(leaf, core);
    if (!spine) return std::nullopt;
    tree[leaf] = spine;
    tree[*spine] = core;
  }
  return tree;
}

std::optional<VertexId> SwitchGraph::spine_between(VertexId leaf, VertexId core) const {
  for (const VertexId v : neighbours_[leaf]) {
    if (kinds_[v] == VertexKind::spine_switch && joined(v, core)) return v;
  }
  return std::nullopt;
}

std::vector<int> SwitchGraph::components() const {
  std::vector<int> number(kinds_.size(), -1);
  int next = 0;
  for (VertexId start = 0; start < number.size(); ++start) {
    if (number[start] >= 0) continue;
    std::vector<VertexId> open{start};
    number[start] = next;
    while (!open.empty()) {
      const VertexId at = open.back();
      open.pop_back();
      for (const VertexId v : neighbours_[at]) {
        if (number[v] >= 0) continue;
        number[v] = next;
        open.push_back(v);
      }
    }
    ++next;
  }
  return number;
}

}  // namespace lockstep
