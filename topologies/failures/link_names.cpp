#include "topologies/failures/link_names.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/outer_spaces.hpp"
#include "sim/config/did_you_mean.hpp"
#include "sim/config/json/config_error.hpp"
#include "topologies/failures/link_changes.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

std::optional<VertexId> find_vertex(const Cluster& cluster, std::string_view name) {
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    if (cluster.vertex_name(v) == name && !is_absent(cluster, v)) return v;
  }
  return std::nullopt;
}

/// "node3", where it has anything in it.
std::optional<std::int32_t> find_node(const Cluster& cluster, std::string_view name) {
  for (int node = 0; node < cluster.nodes(); ++node) {
    if ("node" + std::to_string(node) == name) return node;
  }
  return std::nullopt;
}

/// The vertices "rail0/...", say; empty if none has such a name.
std::vector<bool> find_group(const Cluster& cluster, std::string_view name) {
  std::vector<bool> found;
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    const std::string own = cluster.vertex_name(v);
    if (own.size() <= name.size() || own[name.size()] != '/' || !own.starts_with(name)) continue;
    found.resize(cluster.vertex_count());
    found[v] = true;
  }
  return found;
}

template <class Wanted>
std::vector<LinkId> links_where(const Cluster& cluster, Wanted&& wanted) {
  std::vector<LinkId> found;
  for (LinkId id = 0; id < cluster.link_count(); ++id) {
    if (wanted(cluster.built_link(id)) && !is_absent_link(cluster, id)) found.push_back(id);
  }
  return found;
}

/// `; did you mean "node0/gpu3"?`, or the first name of each kind.
std::string suggestion(const Cluster& cluster, std::string_view name) {
  constexpr std::size_t kMostCompared = 200'000;
  std::vector<std::string> names;
  std::set<VertexKind> kinds;
  std::string examples;
  std::string group;
  for (VertexId v = 0; v < cluster.vertex_count(); ++v) {
    if (is_absent(cluster, v)) continue;
    const std::string own = cluster.vertex_name(v);
    if (kinds.insert(cluster.vertex(v).kind).second)
      examples += (examples.empty() ? "" : ", ") + own;
    if (names.size() < kMostCompared) names.push_back(own);
    const auto slash = own.find('/');
    if (slash == std::string::npos || own.substr(0, slash) == group) continue;
    group = own.substr(0, slash);
    names.push_back(group);
  }
  const std::vector<std::string_view> candidates{names.begin(), names.end()};
  if (const auto meant = did_you_mean(name, candidates))
    return "; did you mean " + in_quotes(*meant) + "?";
  return "; there are " + examples + " and so on";
}

[[noreturn]] void refuse_name(const Cluster& cluster, std::string_view name) {
  throw LinkChangeError("nothing is named " + in_quotes(name) + suggestion(cluster, name));
}

std::string neighbours(const Cluster& cluster, VertexId vertex) {
  std::set<VertexId> others;
  for (const LinkId id :
       links_where(cluster, [vertex](const ClusterLink& link) { return link.from == vertex; })) {
    others.insert(cluster.built_link(id).to);
  }
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t shown = 0;
  for (const VertexId other : others) {
    if (shown++ == kShown) return text + " and so on";
    text += (text.empty() ? "" : ", ") + cluster.vertex_name(other);
  }
  return text.empty() ? "nothing" : text;
}

struct Ends {
  VertexId from;
  VertexId to;
};

NamedLinks links_between(const Cluster& cluster, Ends ends, bool both) {
  auto found = links_where(cluster, [&](const ClusterLink& link) {
    return (link.from == ends.from && link.to == ends.to) ||
           (both && link.from == ends.to && link.to == ends.from);
  });
  const std::string from = cluster.vertex_name(ends.from);
  if (!found.empty())
    return {from + (both ? " -- " : " -> ") + cluster.vertex_name(ends.to), std::move(found)};
  throw LinkChangeError("no link joins " + in_quotes(from) + " to " +
                        in_quotes(cluster.vertex_name(ends.to)) + "; from " + in_quotes(from) +
                        " links lead to " + neighbours(cluster, ends.from));
}

/// Names may contain the separator themselves: every place where it stands is tried.
std::optional<NamedLinks> links_across(const Cluster& cluster, std::string_view text,
                                       std::string_view separator, bool both) {
  std::optional<std::pair<std::string_view, std::string_view>> sides;
  for (auto at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, at + 1)) {
    sides = {without_outer_spaces(text.substr(0, at)),
             without_outer_spaces(text.substr(at + separator.size()))};
    const auto from = find_vertex(cluster, sides->first);
    const auto to = from ? find_vertex(cluster, sides->second) : std::nullopt;
    if (to) return links_between(cluster, {*from, *to}, both);
  }
  if (!sides) return std::nullopt;
  refuse_name(cluster, find_vertex(cluster, sides->first) ? sides->second : sides->first);
}

}  // namespace

NamedLinks links_named(const Cluster& cluster, std::string_view text) {
  const std::string_view name = without_outer_spaces(text);
  if (const auto vertex = find_vertex(cluster, name)) {
    return {std::string{name}, links_where(cluster, [vertex](const ClusterLink& link) {
              return link.from == *vertex || link.to == *vertex;
            })};
  }
  if (const auto node = find_node(cluster, name)) {
    return {std::string{name}, links_where(cluster, [&](const ClusterLink& link) {
              return cluster.vertex(link.from).node == *node ||
                     cluster.vertex(link.to).node == *node;
            })};
  }
  if (const std::vector<bool> group = find_group(cluster, name); !group.empty()) {
    return {std::string{name}, links_where(cluster, [&](const ClusterLink& link) {
              return group[link.from] || group[link.to];
            })};
  }
  if (auto links = links_across(cluster, name, "->", false)) return *std::move(links);
  if (auto links = links_across(cluster, name, "--", true)) return *std::move(links);
  refuse_name(cluster, name);
}

}  // namespace lockstep
