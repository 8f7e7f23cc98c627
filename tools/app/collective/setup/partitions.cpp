#include "tools/app/collective/setup/partitions.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "topologies/analysis/analysis.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::app {

namespace {

using Group = std::int32_t;
constexpr Group kNoGroup = -1;

/// What passes the edge of a group of vertices one way, in rate steps.
struct Crossing {
  UInt128 steps = 0;
  bool unlimited = false;

  /// None: nothing passes, or more than a Rate can say.
  [[nodiscard]] std::optional<Rate> rate() const {
    if (unlimited || steps == 0 || steps > Rate::kMaxSteps) return std::nullopt;
    return Rate::from_steps(static_cast<std::uint64_t>(steps));
  }
};

struct Edge {
  Crossing leaving;
  Crossing entering;
};

/// The end points that take part, and how the vertices are grouped.
class Cuts {
 public:
  Cuts(const Cluster& cluster, const Network& network, NetworkModel model, int auxiliary_ranks)
      : cluster_{cluster},
        network_{network},
        ports_only_{model == NetworkModel::alpha_beta},
        ranks_{static_cast<EndpointId>(cluster.ranks())},
        end_points_{ranks_ + static_cast<EndpointId>(auxiliary_ranks)} {}

  [[nodiscard]] std::vector<Partition> all() const {
    auto end_points = by_end_point();
    auto nodes = by_node();
    find_edges(end_points, nodes);
    std::vector<Partition> out;
    if (end_points) out.push_back(into_end_points(end_points->edges));
    if (auto halves = into_halves()) out.push_back(*std::move(halves));
    if (nodes) out.push_back(into_nodes(nodes->edges));
    return out;
  }

 private:
  /// A group for some of the vertices, and what passes the edge of each.
  struct Grouping {
    std::vector<Group> of_vertex;
    std::vector<Edge> edges{};
  };

  /// Every end point a group of its own; none where two share a vertex.
  [[nodiscard]] std::optional<Grouping> by_end_point() const {
    Grouping out{std::vector<Group>(cluster_.vertex_count(), kNoGroup)};
    for (EndpointId id = 0; id < end_points_; ++id) {
      Group& group = out.of_vertex[cluster_.vertex_of(id)];
      if (group != kNoGroup) return std::nullopt;
      group = static_cast<Group>(id);
    }
    out.edges.resize(end_points_);
    return out;
  }
  [[nodiscard]] Partition into_end_points(const std::vector<Edge>& edges) const {
    Partition out("ports");
    for (EndpointId id = 0; id < ranks_; ++id) add(edges[id], 1, out);
    for (EndpointId id = ranks_; id < end_points_; ++id) add_auxiliary(edges[id], out);
    return out;
  }

  /// The narrowest cuts between the lower and the upper half of the ranks: two groups, whatever
  /// else lies on either side.
  [[nodiscard]] std::optional<Partition> into_halves() const {
    constexpr std::size_t kMostLinks = 1'000'000;  // beyond, the cut takes longer than it tells
    if (ports_only_ || ranks_ < 2 || cluster_.link_count() > kMostLinks) return std::nullopt;
    const auto cut = bisection(cluster_, network_);
    constexpr double kMost = 1e14;  // bytes per second; a Rate holds a little more
    if (!cut || cut->up < 1 || cut->down < 1 || cut->up > kMost || cut->down > kMost)
      return std::nullopt;
    const Rate up = Rate::bytes_per_second(1).scaled(cut->up);
    const Rate down = Rate::bytes_per_second(1).scaled(cut->down);
    const std::int64_t lower = cluster_.ranks() / 2;
    Partition out("bisection");
    out.add(up, down, 1, lower);
    out.add(down, up, 1, cluster_.ranks() - lower);
    return out;
  }

  /// None if there is one node, or a rank to a node, or ranks do not go node by node.
  [[nodiscard]] std::optional<Grouping> by_node() const {
    const std::vector<Run> runs = runs_of_ranks();
    if (runs.size() < 2 || runs.size() == ranks_) return std::nullopt;
    std::vector<Group> group_of_node;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].node < 0) return std::nullopt;
      const auto node = static_cast<std::size_t>(runs[i].node);
      if (node >= group_of_node.size()) group_of_node.resize(node + 1, kNoGroup);
      if (group_of_node[node] != kNoGroup) return std::nullopt;
      group_of_node[node] = static_cast<Group>(i);
    }
    Group groups = static_cast<Group>(runs.size());
    Grouping out{std::vector<Group>(cluster_.vertex_count(), kNoGroup)};
    std::vector<Group>& group_of = out.of_vertex;
    for (VertexId vertex = 0; vertex < group_of.size(); ++vertex) {
      const std::int32_t node = cluster_.vertex(vertex).node;
      if (node >= 0 && static_cast<std::size_t>(node) < group_of_node.size())
        group_of[vertex] = group_of_node[static_cast<std::size_t>(node)];
    }
    for (EndpointId id = ranks_; id < end_points_; ++id) {  // hosts outside the nodes of ranks
      Group& group = group_of[cluster_.vertex_of(id)];
      if (group == kNoGroup) group = groups++;
    }
    out.edges.resize(static_cast<std::size_t>(groups));
    return out;
  }
  [[nodiscard]] Partition into_nodes(const std::vector<Edge>& edges) const {
    const std::vector<Run> runs = runs_of_ranks();
    Partition out("nodes");
    for (std::size_t i = 0; i < runs.size(); ++i) add(edges[i], runs[i].ranks, out);
    for (std::size_t i = runs.size(); i < edges.size(); ++i) add_auxiliary(edges[i], out);
    return out;
  }

  /// Neighboring ranks of one node.
  struct Run {
    std::int32_t node = 0;
    std::int64_t ranks = 0;
  };

  [[nodiscard]] std::vector<Run> runs_of_ranks() const {
    std::vector<Run> out;
    for (EndpointId rank = 0; rank < ranks_; ++rank) {
      const std::int32_t node = cluster_.vertex(cluster_.vertex_of(rank)).node;
      if (out.empty() || out.back().node != node) out.push_back({node, 0});
      ++out.back().ranks;
    }
    return out;
  }

  /// Of both in one pass: a cluster may have millions of links.
  void find_edges(std::optional<Grouping>& a, std::optional<Grouping>& b) const {
    if (!a && !b) return;
    const std::size_t links = cluster_.link_count();
    for (LinkId id = 0; id < links; ++id) {
      if (is_absent_link(cluster_, id)) continue;
      const ClusterLink link = cluster_.link(id);
      if (a) add_link(id, link, *a);
      if (b) add_link(id, link, *b);
    }
  }

  void add_link(LinkId id, const ClusterLink& link, Grouping& out) const {
    const Group from = out.of_vertex[link.from];
    const Group to = out.of_vertex[link.to];
    if (from == to) return;
    if (from != kNoGroup) count(id, out.edges[static_cast<std::size_t>(from)].leaving);
    if (to != kNoGroup) count(id, out.edges[static_cast<std::size_t>(to)].entering);
  }

  void count(LinkId id, Crossing& crossing) const {
    const Link& link = network_.links[id];
    crossing.steps += link.bandwidth.steps();
    crossing.unlimited = crossing.unlimited || (ports_only_ && !link.port);
  }

  static void add(const Edge& edge, std::int64_t members, Partition& out) {
    const auto leaving = edge.leaving.rate();
    const auto entering = edge.entering.rate();
    leaving&& entering ? out.add(*leaving, *entering, 1, members) : out.skip(members);
  }

  static void add_auxiliary(const Edge& edge, Partition& out) {
    const auto leaving = edge.leaving.rate();
    const auto entering = edge.entering.rate();
    leaving&& entering ? out.add_auxiliaries(*leaving, *entering) : out.skip_auxiliaries();
  }

  const Cluster& cluster_;
  const Network& network_;
  bool ports_only_;
  EndpointId ranks_;
  EndpointId end_points_;  // ranks, then auxiliary ranks
};

}  // namespace

std::vector<Partition> partitions_of(const Cluster& cluster, const Network& network,
                                     NetworkModel model, int auxiliary_ranks) {
  return Cuts(cluster, network, model, auxiliary_ranks).all();
}

}  // namespace lockstep::app
