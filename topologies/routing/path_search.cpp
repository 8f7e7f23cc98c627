#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "sim/base/math.hpp"
#include "topologies/routing/path_graph.hpp"

namespace lockstep {
namespace {

/// Paths are counted exactly up to here, so that count times weight unit fits 128 bits; beyond, in
/// doubles, whose weights are good to 2^-40.
constexpr UInt128 kMostCounted = UInt128{1} << 98U;

bool too_many(UInt128 count) {
  return count >= kMostCounted;
}
bool too_many(double) {
  return false;
}

bool gemm_too_large(UInt128 a, UInt128 b) {
  return b != 0 && a > kMostCounted / b;
}
bool gemm_too_large(double, double) {
  return false;
}

/// The unit's share part / all, rounded up.
Weight share(UInt128 part, UInt128 all) {
  return static_cast<Weight>(ceil_div(part * kWeightUnit, all));
}
Weight share(double part, double all) {
  const double exact = part / all * static_cast<double>(kWeightUnit);
  return std::max(static_cast<Weight>(std::ceil(exact * (1 - 0x1p-40))), Weight{1});
}

std::int64_t saturated(UInt128 count) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return count > static_cast<UInt128>(kLargest) ? kLargest : static_cast<std::int64_t>(count);
}
std::int64_t saturated(double) {
  return std::numeric_limits<std::int64_t>::max();
}

/// What a search knows of a state, seen from one end.
template <class Count>
struct Mark {
  std::uint64_t search = 0;  // the marks of other searches count as none
  std::uint32_t depth = 0;
  bool on_path = false;
  std::int64_t latency_ps = 0;
  Count paths{};    // between the end and here
  Count through{};  // ways on from here to the other end, on best paths
};

struct FoundHop {
  std::uint32_t level;
  VertexId source;
  Hop hop;
};

/// Half of a search: from one end, level by level.
template <class Count>
class Side {
 public:
  void start(std::uint64_t search, StateId origin, const Arcs& ahead, const Arcs& back,
             std::size_t states) {
    search_ = search;
    origin_ = origin;
    ahead_ = &ahead;
    back_ = &back;
    depth_ = 0;
    if (marks_.size() < states) marks_.resize(states);
    frontier_.assign(1, origin);
    marks_[origin] = {search, 0, false, 0, Count{1}, Count{}};
  }

  [[nodiscard]] const std::vector<StateId>& frontier() const { return frontier_; }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] Mark<Count>& mark(StateId state) { return marks_[state]; }
  [[nodiscard]] bool reached(StateId state) const { return marks_[state].search == search_; }
  [[nodiscard]] bool at_frontier(StateId state) const {
    return reached(state) && marks_[state].depth == depth_;
  }
  [[nodiscard]] bool may_pass(const PathGraph& graph, StateId state) const {
    return state == origin_ || graph.may_pass(state);
  }

  /// One level further. False where counting overflowed.
  bool expand(const PathGraph& graph) {
    next_.clear();
    ++depth_;
    bool counted = true;
    for (const StateId state : frontier_) {
      if (!may_pass(graph, state)) continue;
      const Mark<Count> from = marks_[state];
      for (const Arc& arc : ahead_->at(state)) counted &= reach(from, arc);
    }
    frontier_.swap(next_);
    return counted;
  }

  /// Back from the states where the sides met, whose `through` is set, to the origin; `emit(near,
  /// far, link, ways)` reports every link on the way with the number of best paths through it.
  template <class Emit>
  void walk_back(const PathGraph& graph, std::vector<StateId> level, Emit&& emit) {
    for (std::uint32_t depth = depth_; depth > 0; --depth) {
      next_.clear();
      for (const StateId state : level) step_back(graph, state, emit);
      level = next_;
    }
  }

 private:
  bool reach(const Mark<Count>& from, const Arc& arc) {
    Mark<Count>& to = marks_[arc.other];
    const std::int64_t latency = from.latency_ps + arc.latency_ps;
    if (to.search != search_) {
      to = {search_, depth_, false, latency, from.paths, Count{}};
      next_.push_back(arc.other);
      return true;
    }
    if (to.depth != depth_ || latency > to.latency_ps) return true;
    if (latency < to.latency_ps) {
      to.latency_ps = latency;
      to.paths = Count{};
    }
    to.paths += from.paths;
    return !too_many(to.paths);
  }

  template <class Emit>
  void step_back(const PathGraph& graph, StateId state, Emit& emit) {
    const Mark<Count> here = marks_[state];
    for (const Arc& arc : back_->at(state)) {
      Mark<Count>& near = marks_[arc.other];
      const bool on_best = near.search == search_ && near.depth + 1 == here.depth &&
                           near.latency_ps + arc.latency_ps == here.latency_ps &&
                           may_pass(graph, arc.other);
      if (!on_best) continue;
      if (!near.on_path) {
        near.on_path = true;
        next_.push_back(arc.other);
      }
      near.through += here.through;
      emit(near.depth, arc.link, near.paths * here.through);
    }
  }

  std::uint64_t search_ = 0;
  StateId origin_ = 0;
  std::uint32_t depth_ = 0;
  const Arcs* ahead_ = nullptr;
  const Arcs* back_ = nullptr;
  std::vector<Mark<Count>> marks_;
  std::vector<StateId> frontier_;
  std::vector<StateId> next_;
};

enum class Outcome { found, no_way, too_many_paths };

/// A search from both ends at once, always further on the side with fewer states at its frontier.
/// The first states at which the sides meet lie on every path of fewest hops.
template <class Count>
class Search {
 public:
  Outcome run(const PathGraph& graph, StateId from, StateId to, Route& route) {
    ++search_;
    near_.start(search_, from, graph.forwards(), graph.backwards(), graph.states());
    far_.start(search_, to, graph.backwards(), graph.forwards(), graph.states());
    while (!meet(graph, from, to)) {
      if (near_.frontier().empty() || far_.frontier().empty()) return Outcome::no_way;
      auto& smaller = near_.frontier().size() <= far_.frontier().size() ? near_ : far_;
      if (!smaller.expand(graph)) return Outcome::too_many_paths;
    }
    if (!join()) return Outcome::too_many_paths;
    collect(graph, route);
    return Outcome::found;
  }

 private:
  /// Fills met_ with the states at both frontiers that a path may lead through.
  bool meet(const PathGraph& graph, StateId from, StateId to) {
    met_.clear();
    const bool near_smaller = near_.frontier().size() <= far_.frontier().size();
    const auto& smaller = near_smaller ? near_ : far_;
    const auto& other = near_smaller ? far_ : near_;
    for (const StateId state : smaller.frontier()) {
      const bool passable = state == from || state == to || graph.may_pass(state);
      if (passable && other.at_frontier(state)) met_.push_back(state);
    }
    return !met_.empty();
  }

  /// Keeps the meeting points of least latency and counts the paths through each.
  bool join() {
    const auto latency = [this](StateId state) {
      return near_.mark(state).latency_ps + far_.mark(state).latency_ps;
    };
    latency_ps_ = latency(met_.front());
    for (const StateId state : met_) latency_ps_ = std::min(latency_ps_, latency(state));
    std::erase_if(met_, [&](StateId state) { return latency(state) != latency_ps_; });
    total_ = Count{};
    for (const StateId state : met_) {
      Mark<Count>& near = near_.mark(state);
      Mark<Count>& far = far_.mark(state);
      if (gemm_too_large(near.paths, far.paths)) return false;
      near.through = far.paths;
      far.through = near.paths;
      total_ += near.paths * far.paths;
      if (too_many(total_)) return false;
    }
    return true;
  }

  void collect(const PathGraph& graph, Route& route) {
    found_.clear();
    const std::uint32_t hops = near_.depth() + far_.depth();
    const auto add = [&](std::uint32_t level, LinkId link, Count ways) {
      found_.push_back({level, graph.source_of(link), Hop{link, share(ways, total_)}});
    };
    near_.walk_back(graph, met_, add);
    far_.walk_back(graph, met_, [&](std::uint32_t depth, LinkId link, Count ways) {
      add(hops - 1 - depth, link, ways);
    });
    std::sort(found_.begin(), found_.end(), [](const FoundHop& a, const FoundHop& b) {
      return std::tie(a.level, a.source, a.hop.link) < std::tie(b.level, b.source, b.hop.link);
    });
    for (const FoundHop& found : found_) route.hops.push_back(found.hop);
    route.latency = Duration::picoseconds(latency_ps_);
    route.paths = saturated(total_);
  }

  std::uint64_t search_ = 0;
  Side<Count> near_;
  Side<Count> far_;
  std::vector<StateId> met_;
  std::int64_t latency_ps_ = 0;
  Count total_{};
  std::vector<FoundHop> found_;
};

}  // namespace

bool PathGraph::find(StateId from, StateId to, Route& route) const {
  route.clear();
  if (from == to) return true;
  thread_local Search<UInt128> exact;
  Outcome outcome = exact.run(*this, from, to, route);
  if (outcome == Outcome::too_many_paths) {
    thread_local Search<double> rough;
    outcome = rough.run(*this, from, to, route);
  }
  return outcome == Outcome::found;
}

PathDistances PathGraph::distances(StateId from) const {
  PathDistances out{from, std::vector<std::uint32_t>(states(), PathDistances::kNoWay),
                    std::vector<std::int64_t>(states(), 0)};
  out.hops[from] = 0;
  std::vector<StateId> level{from};
  std::vector<StateId> next;
  for (std::uint32_t hops = 1; !level.empty(); ++hops) {
    next.clear();
    for (const StateId state : level) {
      if (state != from && !may_pass(state)) continue;
      for (const Arc& arc : out_.at(state)) {
        const std::int64_t latency = out.latency_ps[state] + arc.latency_ps;
        if (out.hops[arc.other] == PathDistances::kNoWay) {
          out.hops[arc.other] = hops;
          out.latency_ps[arc.other] = latency;
          next.push_back(arc.other);
        } else if (out.hops[arc.other] == hops) {
          out.latency_ps[arc.other] = std::min(out.latency_ps[arc.other], latency);
        }
      }
    }
    level.swap(next);
  }
  return out;
}

}  // namespace lockstep
