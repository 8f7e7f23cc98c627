#pragma once

#include <span>
#include <vector>

#include "sim/network/network.hpp"
#include "topologies/graph/graph.hpp"

/// A graph laid out for searching paths. Internal.
namespace lockstep {

/// Where a search stands. A NIC has two: a route that reached it from its node may only leave into
/// the network, one that reached it from the network only into the node.
using StateId = std::uint32_t;

/// A link as a search sees it, from either end.
struct Arc {
  StateId other;
  LinkId link;
  std::int64_t latency_ps;
};

/// Arcs by the state that they leave (or, backwards, reach).
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

/// How far every state is from one: by fewest hops, then least latency.
struct PathDistances {
  static constexpr std::uint32_t kNoWay = UINT32_MAX;

  StateId from = 0;
  std::vector<std::uint32_t> hops;  // kNoWay: not to be reached
  std::vector<std::int64_t> latency_ps;
};

/// All the best paths between two vertices: fewest hops, then least latency. Between them only
/// vertices that forward, and NICs only between their node and the network.
/// Immutable; several threads may search at once.
class PathGraph {
 public:
  PathGraph() = default;
  /// Links that are marked in `failed` (by id; empty: none) are left out.
  explicit PathGraph(const Graph& graph, const std::vector<bool>& failed = {});

  /// Fills `route` (cleared first) with hops in order of distance from `from`, those that leave the
  /// same vertex side by side in order of link id. False where there is no way.
  [[nodiscard]] bool find(StateId from, StateId to, Route& route) const;

  /// How long those paths are from one state to every other.
  [[nodiscard]] PathDistances distances(StateId from) const;

  /// The state to start from that stands for a NIC reached from the network.
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

  std::vector<StateId> outer_;  // by vertex: itself, but for NICs
  std::vector<bool> passable_;  // by state
  std::vector<Ends> ends_;      // by link
  Arcs out_;
  Arcs in_;
};

/// One of the paths of a split route that PathGraph::find made: at every vertex the link of lowest
/// id, or, with a `hash`, one drawn by its share.
void choose_lowest(const PathGraph& graph, Route& route);
void choose_hashed(const PathGraph& graph, std::uint64_t hash, Route& route);

}  // namespace lockstep
