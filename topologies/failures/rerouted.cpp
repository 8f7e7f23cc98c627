#include "topologies/failures/rerouted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

namespace {

using Pair = std::pair<EndpointId, EndpointId>;

bool same_way(const Route& a, const Route& b) {
  return std::equal(
      a.hops.begin(), a.hops.end(), b.hops.begin(), b.hops.end(),
      [](const Hop& x, const Hop& y) { return x.link == y.link && x.weight == y.weight; });
}

bool crosses_change(const Route& route, const LinkOverlay& overlay) {
  return std::any_of(route.hops.begin(), route.hops.end(),
                     [&](const Hop& hop) { return overlay.find(hop.link) != nullptr; });
}

void count(std::int64_t& number, std::optional<Pair>& first, const Pair& pair) {
  if (number++ == 0) first = pair;
}

std::string example(const std::optional<Pair>& pair, const Cluster& cluster) {
  if (!pair) return {};
  const auto name = [&](EndpointId rank) { return cluster.vertex_name(cluster.vertex_of(rank)); };
  return fmt::format(", the first from {} to {}", name(pair->first), name(pair->second));
}

}  // namespace

std::optional<Rerouted> rerouted(const Cluster& cluster, RoutePolicy policy, std::uint64_t seed) {
  const LinkOverlay& overlay = cluster.overlay();
  if (overlay.all().empty() || cluster.ranks() > kMostReroutedRanks) return std::nullopt;
  const auto now = make_router(cluster, policy, seed);
  const auto before = make_router(cluster.with(LinkOverlay{}), policy, seed);
  const auto ranks = static_cast<EndpointId>(cluster.ranks());
  Rerouted out;
  Route old_route;
  Route new_route;
  for (EndpointId from = 0; from < ranks; ++from) {
    for (EndpointId to = 0; to < ranks; ++to) {
      if (from == to) continue;
      ++out.pairs;
      old_route.clear();
      new_route.clear();
      (void)before->route(from, to, old_route);
      (void)now->route(from, to, new_route);
      if (!same_way(old_route, new_route)) {
        count(out.moved, out.first_moved, {from, to});
      } else if (crosses_change(new_route, overlay)) {
        count(out.over, out.first_over, {from, to});
      }
    }
  }
  return out;
}

std::string describe(const Rerouted& rerouted, const Cluster& cluster) {
  const auto of = [&](std::int64_t number) {
    return number == 0 ? fmt::format("none of {} rank-to-rank routes", rerouted.pairs)
                       : fmt::format("{} of {} rank-to-rank routes", number, rerouted.pairs);
  };
  if (rerouted.moved == 0 && rerouted.over == 0) return of(0) + " cross modified links";
  std::string text;
  if (rerouted.moved > 0)
    text = fmt::format("{} rerouted{}", of(rerouted.moved), example(rerouted.first_moved, cluster));
  if (rerouted.over > 0)
    text += fmt::format("{}{} unchanged but cross modified links{}", text.empty() ? "" : "; ",
                        of(rerouted.over), example(rerouted.first_over, cluster));
  return text;
}

}  // namespace lockstep
