#include "strategies/collectives/lower_bound.hpp"

#include <array>
#include <optional>

#include "sim/check.hpp"
#include "strategies/collectives/cost.hpp"

namespace lockstep {
namespace {

/// Work over rate, rounded down.
Duration floor_time(Int128 work, UInt128 rate_steps) {
  const UInt128 ps = static_cast<UInt128>(work) / rate_steps;
  if (ps > static_cast<UInt128>(INT64_MAX)) detail::throw_overflow("Duration");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

/// The routes between all end points: how long each takes, and what each end point can send and
/// receive through the links that carry all of a route.
class AllPairs {
 public:
  AllPairs(const Network& network, const std::vector<EndpointId>& endpoints)
      : network_{network},
        size_{endpoints.size()},
        latency_(size_ * size_, kNoWay),
        leaving_(size_),
        entering_(size_) {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) {
        if (i != j) add(i, j, endpoints[i], endpoints[j]);
      }
    }
  }

  /// The longest of the shortest chains of messages between two of the first `members`.
  [[nodiscard]] Duration farthest(std::size_t members) {
    relax();
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < members; ++i) {
      for (std::size_t j = 0; j < members; ++j) {
        const std::int64_t chain = at(i, j);
        if (i != j && chain < kNoWay) longest = std::max(longest, chain);
      }
    }
    return Duration::picoseconds(longest);
  }

  /// Every end point a group of its own; none where two share an end point, or no link is known.
  [[nodiscard]] std::optional<Partition> ports(std::size_t members) const {
    Partition partition{"ports"};
    for (std::size_t i = 0; i < size_; ++i) {
      const auto leaving = total(leaving_[i]);
      const auto entering = total(entering_[i]);
      if (unlimited_ || !leaving || !entering) return std::nullopt;
      if (i < members) {
        partition.add(*leaving, *entering);
      } else {
        partition.add_helpers(*leaving, *entering);
      }
    }
    return partition;
  }

 private:
  static constexpr std::int64_t kNoWay = INT64_MAX / 4;

  [[nodiscard]] std::int64_t& at(std::size_t from, std::size_t to) {
    return latency_[from * size_ + to];
  }

  void add(std::size_t i, std::size_t j, EndpointId from, EndpointId to) {
    if (!network_.router->route(from, to, route_)) return;
    at(i, j) = route_.latency.ps();
    if (route_.hops.empty()) unlimited_ = true;
    add_cut(leaving_[i], false);
    add_cut(entering_[j], true);
  }

  /// Adds links that the route cannot do without: the first (last) that carries all of it, or,
  /// where it is split from the start, all its links. Any such set is a cut; a larger one only
  /// weakens the bound.
  void add_cut(std::vector<LinkId>& links, bool last) {
    std::optional<LinkId> whole;
    for (const Hop& hop : route_.hops) {
      if (hop.weight >= kWeightUnit && (last || !whole)) whole = hop.link;
    }
    if (whole) {
      insert(links, *whole);
    } else {
      for (const Hop& hop : route_.hops) insert(links, hop.link);
    }
  }

  static void insert(std::vector<LinkId>& links, LinkId link) {
    if (std::ranges::find(links, link) == links.end()) links.push_back(link);
  }

  [[nodiscard]] std::optional<Rate> total(const std::vector<LinkId>& links) const {
    UInt128 steps = 0;
    for (const LinkId link : links) steps += network_.links[link].bandwidth.steps();
    if (steps == 0 || steps > Rate::kMaxSteps) return std::nullopt;
    return Rate::from_steps(static_cast<std::uint64_t>(steps));
  }

  /// Floyd and Warshall: from routes to chains of routes.
  void relax() {
    for (std::size_t via = 0; via < size_; ++via) {
      for (std::size_t i = 0; i < size_; ++i) {
        for (std::size_t j = 0; j < size_; ++j) {
          at(i, j) = std::min(at(i, j), at(i, via) + at(via, j));
        }
      }
    }
  }

  const Network& network_;
  std::size_t size_;
  std::vector<std::int64_t> latency_;  // ps, row by row
  std::vector<std::vector<LinkId>> leaving_;
  std::vector<std::vector<LinkId>> entering_;
  bool unlimited_ = false;
  Route route_;
};

/// Among many end points only a few pairs are tried. A chain is the pair's own route, or at least
/// two messages, each over at least one link.
Duration farthest_probe(const Network& network, std::span<const EndpointId> members) {
  if (network.links.empty()) return {};
  Duration least_link = network.links.front().latency;
  for (const Link& link : network.links) least_link = std::min(least_link, link.latency);
  const std::size_t n = members.size();
  const std::array probes{members[0], members[n / 3], members[2 * n / 3], members[n - 1]};
  Duration farthest;
  Route route;
  for (const EndpointId from : probes) {
    for (const EndpointId to : probes) {
      if (from != to && network.router->route(from, to, route))
        farthest = std::max(farthest, std::min(route.latency, 2 * least_link));
    }
  }
  return farthest;
}

/// Zero where somebody's reductions cost no time.
UInt128 total_reduce_steps(const Network& network, const std::vector<EndpointId>& endpoints) {
  UInt128 steps = 0;
  for (const EndpointId endpoint : endpoints) {
    const auto& rate = network.endpoints[endpoint].reduce_rate;
    if (!rate) return 0;
    steps += rate->steps();
  }
  return steps;
}

}  // namespace

void Partition::Direction::add(Rate rate, std::int64_t groups, bool members) {
  total_steps += UInt128{rate.steps()} * static_cast<std::uint64_t>(groups);
  if (members && (least_steps == 0 || rate.steps() < least_steps)) least_steps = rate.steps();
}

Duration Partition::Direction::least_time(Bytes message, std::int64_t groups) const {
  const Duration together = floor_time(repeated_work(message, 2 * (groups - 1)), total_steps);
  return std::max(together, floor_time(work_of(message), least_steps));
}

void Partition::add(Rate leaving, Rate entering, std::int64_t groups) {
  if (groups == 0) return;
  groups_ += groups;
  leaving_.add(leaving, groups, true);
  entering_.add(entering, groups, true);
}

void Partition::add_helpers(Rate leaving, Rate entering, std::int64_t groups) {
  leaving_.add(leaving, groups, false);
  entering_.add(entering, groups, false);
}

Duration Partition::least_time(Bytes message) const {
  if (groups_ < 2) return {};
  return std::max(leaving_.least_time(message, groups_), entering_.least_time(message, groups_));
}

AllReduceBound::AllReduceBound(const Network& network, std::span<const EndpointId> members,
                               std::span<const EndpointId> helpers,
                               std::vector<Partition> partitions)
    : members_{static_cast<std::int64_t>(members.size())}, partitions_{std::move(partitions)} {
  LOCKSTEP_CHECK(!members.empty());
  std::vector<EndpointId> all{members.begin(), members.end()};
  all.insert(all.end(), helpers.begin(), helpers.end());
  reduce_steps_ = total_reduce_steps(network, all);
  if (members.size() < 2) return;
  if (all.size() > kAllPairs) {
    latency_ = farthest_probe(network, members);
    return;
  }
  AllPairs pairs{network, all};
  if (auto ports = pairs.ports(members.size()))
    partitions_.insert(partitions_.begin(), std::move(*ports));
  latency_ = pairs.farthest(members.size());
}

LowerBound AllReduceBound::at(Bytes message) const {
  LowerBound bound{.latency = latency_, .bandwidth = {}, .reduction = {}, .tightest_cut = {}};
  for (const Partition& partition : partitions_) {
    const Duration least = partition.least_time(message);
    if (least <= bound.bandwidth) continue;
    bound.bandwidth = least;
    bound.tightest_cut = partition.name();
  }
  if (reduce_steps_ > 0)
    bound.reduction = floor_time(repeated_work(message, members_ - 1), reduce_steps_);
  return bound;
}

}  // namespace lockstep
