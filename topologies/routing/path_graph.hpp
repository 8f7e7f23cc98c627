#pragma once

#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "topologies/graph/graph.hpp"

/// A graph prepared for path search. Internal.
namespace lockstep {

/// State of a search. A NIC has two: a route that reached it from its node must continue into the
/// network, one that reached it from the network into the node.
using StateId = std::uint32_t;

/// A link as seen from either end.
struct Arc {
  StateId other;
  LinkId link;
  std::int64_t latency_ps;
};

/// Arcs by the state that they leave (backwards: enter).
class Arcs {
 public:
  Arcs() = default;
  /// `keys[i]` is the state that `arcs[i]` belongs to.
  Arcs(std::size_t states, const std::vector<StateId>& keys, const std::vector<Arc>& arcs);
  [[nodiscard]] std::span<const Arc> at(StateId state) const {
    return std::span{arcs_}.subspan(first_[state], first_[state + 1] - first_[state]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<Arc> arcs_;
};

/// Distance of every state from one: fewest hops, then least latency.
struct PathDistances {
  static constexpr std::uint32_t kNoWay = UINT32_MAX;

  StateId from = 0;
  std::vector<std::uint32_t> hops;  // kNoWay: unreachable
  std::vector<std::int64_t> latency_ps;
};

/// All best paths between two vertices: fewest hops, then least latency. Intermediate vertices must
/// forward, and NICs only connect their node with the network. Immutable and thread-safe.
class PathGraph {
 public:
  PathGraph() = default;
  /// `failed`: by link id, excluded from paths; empty: none.
  explicit PathGraph(const Graph& graph, const std::vector<bool>& failed = {});

  /// Fills `route` (cleared first) with hops in order of distance from `from`, those leaving the
  /// same vertex adjacent and by link id. False if there is no path.
  [[nodiscard]] bool find(StateId from, StateId to, Route& route) const;

  /// Length of those paths from one state to every other.
  [[nodiscard]] PathDistances distances(StateId from) const;

  /// The start state for a NIC reached from the network.
  [[nodiscard]] StateId arrived_from_network(VertexId nic) const { return outer_[nic]; }

  [[nodiscard]] VertexId source_of(LinkId link) const { return ends_[link].source; }
  [[nodiscard]] VertexId target_of(LinkId link) const { return ends_[link].target; }
  [[nodiscard]] std::size_t vertices() const { return outer_.size(); }

  // For the search.
  [[nodiscard]] const Arcs& forwards() const { return out_; }
  [[nodiscard]] const Arcs& backwards() const { return in_; }
  [[nodiscard]] bool may_pass(StateId state) const { return passable_[state]; }
  [[nodiscard]] std::size_t states() const { return passable_.size(); }

 private:
  struct Ends {
    VertexId source = 0;
    VertexId target = 0;
  };

  std::vector<StateId> outer_;  // by vertex: itself, except for NICs
  std::vector<bool> passable_;  // by state
  std::vector<Ends> ends_;      // by link
  Arcs out_;
  Arcs in_;
};

/// Reduces a split route of PathGraph::find to one path: at every vertex the link with the lowest
/// id or, with a `hash`, one drawn by its share.
void choose_lowest(const PathGraph& graph, Route& route);
void choose_hashed(const PathGraph& graph, std::uint64_t hash, Route& route);

}  // namespace lockstep
