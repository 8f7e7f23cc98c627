#include "strategies/collectives/bounds/end_point_routes.hpp"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::int64_t kNoWay = INT64_MAX / 4;

void insert(std::vector<LinkId>& links, LinkId link) {
  if (std::ranges::find(links, link) == links.end()) links.push_back(link);
}

}  // namespace

EndPointRoutes::EndPointRoutes(const Network& network, const std::vector<EndpointId>& end_points,
                               bool ports_only)
    : network_{network},
      size_{end_points.size()},
      ports_only_{ports_only},
      latency_(size_ * size_, kNoWay),
      leaving_(size_),
      entering_(size_) {
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < size_; ++j) {
      if (i != j) add(i, j, end_points[i], end_points[j]);
    }
  }
  relax();
}

void EndPointRoutes::add(std::size_t i, std::size_t j, EndpointId from, EndpointId to) {
  if (!network_.router->route(from, to, route_)) return;
  latency_[i * size_ + j] = route_.latency.ps();
  if (route_.hops.empty()) unlimited_ = true;
  add_cut(leaving_[i], false);
  add_cut(entering_[j], true);
}

/// Adds links that the route cannot do without: the first (last) that carries all of it, or, where
/// it is split from the start, all its links. Any such set is a cut; a larger one only weakens the
/// bound.
void EndPointRoutes::add_cut(std::vector<LinkId>& links, bool last) const {
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

std::optional<Rate> EndPointRoutes::total(const std::vector<LinkId>& links) const {
  UInt128 steps = 0;
  for (const LinkId link : links) {
    if (ports_only_ && !network_.links[link].port) return std::nullopt;
    steps += network_.links[link].bandwidth.steps();
  }
  if (steps == 0 || steps > Rate::kMaxSteps) return std::nullopt;
  return Rate::from_steps(static_cast<std::uint64_t>(steps));
}

/// Floyd and Warshall: from routes to chains of routes.
void EndPointRoutes::relax() {
  for (std::size_t via = 0; via < size_; ++via) {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) {
        latency_[i * size_ + j] = std::min(latency_[i * size_ + j],
                                           latency_[i * size_ + via] + latency_[via * size_ + j]);
      }
    }
  }
}

std::optional<Partition> EndPointRoutes::ports(std::size_t members) const {
  if (unlimited_) return std::nullopt;
  Partition partition{"ports"};
  for (std::size_t i = 0; i < size_; ++i) {
    const auto leaving = total(leaving_[i]);
    const auto entering = total(entering_[i]);
    const bool known = leaving && entering;
    if (i >= members) {
      known ? partition.add_auxiliaries(*leaving, *entering) : partition.skip_auxiliaries();
    } else {
      known ? partition.add(*leaving, *entering) : partition.skip(1);
    }
  }
  return partition;
}

Duration EndPointRoutes::farthest(const CollectiveDemand& demand) const {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < demand.members(); ++i) {
    for (std::int64_t j = 0; j < demand.members(); ++j) {
      if (!demand.reaches(i, j)) continue;
      const std::int64_t chain =
          latency_[static_cast<std::size_t>(i) * size_ + static_cast<std::size_t>(j)];
      if (chain < kNoWay) longest = std::max(longest, chain);
    }
  }
  return Duration::picoseconds(longest);
}

Duration farthest_probe(const Network& network, std::span<const EndpointId> members,
                        const CollectiveDemand& demand) {
  if (network.links.empty()) return {};
  Duration least_link = network.links.front().latency;
  for (const Link& link : network.links) least_link = std::min(least_link, link.latency);
  const std::int64_t n = demand.members();
  Duration farthest;
  Route route;
  const auto probe = [&](std::int64_t i, std::int64_t j) {
    if (demand.reaches(i, j) && network.router->route(members[static_cast<std::size_t>(i)],
                                                      members[static_cast<std::size_t>(j)], route))
      farthest = std::max(farthest, std::min(route.latency, 2 * least_link));
  };
  const std::array probes{demand.root(), std::int64_t{0}, n / 3, 2 * n / 3, n - 1};
  for (const std::int64_t i : probes) {
    probe(i, (i + demand.distance()) % n);
    for (const std::int64_t j : probes) probe(i, j);
  }
  return farthest;
}

}  // namespace lockstep
