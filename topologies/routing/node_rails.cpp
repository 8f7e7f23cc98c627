#include "topologies/routing/node_rails.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "topologies/routing/path_graph.hpp"
#include "topologies/routing/routing.hpp"

namespace lockstep {
namespace {

std::vector<VertexId> of_kind(const Graph& node, VertexKind kind) {
  std::vector<VertexId> found;
  for (VertexId v = 0; v < vertex_count(node); ++v) {
    if (node[v].kind == kind) found.push_back(v);
  }
  return found;
}

/// In their order; false where some have a rail and others have not.
bool number_nics(Graph& node, const std::vector<VertexId>& nics,
                 std::vector<RailProblem>& problems) {
  const auto has_rail = [&node](VertexId nic) { return node[nic].rail >= 0; };
  const auto first_without = std::ranges::find_if_not(nics, has_rail);
  if (first_without == nics.end()) return true;
  if (std::ranges::any_of(nics, has_rail)) {
    problems.push_back(
        {*first_without, "other NICs have a rail: expected one on every NIC, or on none"});
    return false;
  }
  int next = 0;
  for (const VertexId nic : nics) node[nic].rail = next++;
  return true;
}

class Nearest {
 public:
  Nearest(const Graph& node, std::vector<VertexId> nics)
      : node_{node}, paths_{node}, nics_{std::move(nics)} {}

  /// A rail for that GPU; nothing where it reaches no NIC.
  std::optional<int> rail_for(VertexId gpu) {
    std::optional<VertexId> best;
    std::tuple<std::int64_t, Duration, int> least;
    Route route;
    for (const VertexId nic : nics_) {
      if (!paths_.find(gpu, nic, route)) continue;
      const std::tuple merit{path_length(route), route.latency, gpus_on_[node_[nic].rail]};
      if (best && merit >= least) continue;
      best = nic;
      least = merit;
    }
    if (!best) return std::nullopt;
    ++gpus_on_[node_[*best].rail];
    return node_[*best].rail;
  }

  [[nodiscard]] bool reaches(VertexId gpu, int rail) const {
    Route route;
    return std::ranges::any_of(nics_, [&](VertexId nic) {
      return node_[nic].rail == rail && paths_.find(gpu, nic, route);
    });
  }

 private:
  const Graph& node_;
  PathGraph paths_;
  std::vector<VertexId> nics_;
  std::map<int, int> gpus_on_;
};

void place_gpus(Graph& node, const std::vector<VertexId>& nics,
                std::vector<RailProblem>& problems) {
  Nearest nearest{node, nics};
  for (const VertexId gpu : of_kind(node, VertexKind::gpu)) {
    if (node[gpu].rail >= 0) {
      if (!nearest.reaches(gpu, node[gpu].rail))
        problems.push_back({gpu, "it reaches no NIC of rail " + std::to_string(node[gpu].rail) +
                                     " through vertices that forward"});
      continue;
    }
    const auto rail = nearest.rail_for(gpu);
    if (rail) node[gpu].rail = *rail;
    if (!rail) problems.push_back({gpu, "it reaches no NIC through vertices that forward"});
  }
}

/// Planes are distinguished by these numbers.
void check_gaps(const Graph& node, const std::vector<VertexId>& terminals,
                std::vector<RailProblem>& problems) {
  std::set<int> rails;
  for (const VertexId v : terminals) rails.insert(node[v].rail);
  const auto count = static_cast<int>(rails.size());
  for (const VertexId v : terminals) {
    if (node[v].rail < count) continue;
    problems.push_back({v, "rails are numbered from 0 without gaps: expected 0 to " +
                               std::to_string(count - 1) + ", got " +
                               std::to_string(node[v].rail)});
    return;
  }
}

}  // namespace

std::vector<RailProblem> settle_rails(Graph& node) {
  std::vector<RailProblem> problems;
  const auto nics = of_kind(node, VertexKind::nic);
  if (nics.empty()) {
    const auto gpus = of_kind(node, VertexKind::gpu);
    for (const VertexId gpu : gpus) node[gpu].rail = std::max(node[gpu].rail, 0);
    check_gaps(node, gpus, problems);
    return problems;
  }
  if (!number_nics(node, nics, problems)) return problems;
  check_gaps(node, nics, problems);
  place_gpus(node, nics, problems);
  return problems;
}

}  // namespace lockstep
