#include "topologies/routing/routing.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/hash.hpp"
#include "sim/network/block_router.hpp"
#include "topologies/blocks/nested_blocks.hpp"
#include "topologies/blocks/node_blocks.hpp"
#include "topologies/routing/delayed_router.hpp"
#include "topologies/routing/merge_routes.hpp"
#include "topologies/routing/route_segments.hpp"

namespace lockstep {
namespace {

/// The rails on which a transfer leaves its node and arrives at the other.
struct RailPair {
  int leaving = 0;
  int arriving = 0;
};

/// How good a way is; less is better.
using Merit = std::tuple<int, std::int64_t, Duration>;

class ClusterRouter final : public Router, public BlockRouter, public LengthRouter {
 public:
  ClusterRouter(const Cluster& cluster, RoutePolicy policy, std::uint64_t seed)
      : cluster_{cluster}, policy_{policy}, seed_{seed}, stretches_{cluster, policy} {}

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    return find(from, to, false, route);
  }

  [[nodiscard]] bool has_outlines() const override {
    return policy_ == RoutePolicy::automatic && cluster_.data().planes != 0 &&
           stretches_.planes_are_whole();
  }
  [[nodiscard]] bool outline(EndpointId from, EndpointId to, Route& route) const override {
    return find(from, to, has_outlines(), route);
  }
  [[nodiscard]] LinkId stands_for(LinkId link) const override {
    return has_outlines() ? stretches_.stands_for(link) : link;
  }

  /// Policies draw among paths that are equally long.
  [[nodiscard]] std::optional<RouteLength> length(EndpointId from, EndpointId to) const override {
    const EndpointPlace source = place_of(cluster_.data(), from);
    const EndpointPlace target = place_of(cluster_.data(), to);
    if (cluster_.overlay().any_failed()) return length_of_route(from, to);
    if (source.copy == target.copy)
      return stretches_.has_tables(source.copy)
                 ? length_of_route(from, to)
                 : stretches_.length_inside(source.copy, source.place, target.place);
    const RailPair rails = usual_rails(source.place, target.place);
    Route ends;
    const auto exit = stretches_.exit(source.copy, source.place, rails.leaving);
    const auto entry = stretches_.entry(target.copy, target.place, rails.arriving);
    if (!exit || !entry || exit->plane != entry->plane ||
        !stretches_.leave(source.copy, source.place, rails.leaving, 0, ends) ||
        !stretches_.arrive(target.copy, target.place, rails.arriving, 0, ends))
      return std::nullopt;
    auto out = stretches_.length_across(exit->plane, exit->leaf, entry->leaf);
    if (!out) return std::nullopt;
    out->hops += path_length(ends);
    out->latency += ends.latency;
    return out;
  }

  [[nodiscard]] std::uint32_t block() const override {
    return blocks().has_value() ? blocks()->ranks() : 0;
  }
  [[nodiscard]] std::optional<BlockLink> block_link(LinkId link) const override {
    return blocks()->place_of(link);
  }
  [[nodiscard]] LinkId link_at(const BlockLink& place) const override {
    return blocks()->link_at(place);
  }
  [[nodiscard]] std::size_t neighbors(LinkId link) const override {
    return blocks()->neighbors(link);
  }

  [[nodiscard]] std::uint32_t smallest_block() const override {
    return nested().has_value() ? nested()->ranks() : 0;
  }
  [[nodiscard]] bool may_exchange(std::uint32_t length, std::uint32_t blocks) const override {
    return nested().has_value() && nested()->may_exchange(length / nested()->ranks(), blocks);
  }
  [[nodiscard]] BlockLink exchanged_link(LinkId link, std::uint32_t length) const override {
    return nested()->place_of(link, length / nested()->ranks());
  }
  [[nodiscard]] LinkId exchanged_link_at(const BlockLink& place,
                                         std::uint32_t length) const override {
    return nested()->link_at(place, length / nested()->ranks());
  }
  [[nodiscard]] std::size_t exchanged_neighbors(LinkId link, std::uint32_t length) const override {
    return nested()->neighbors(link, length / nested()->ranks());
  }

 private:
  [[nodiscard]] std::optional<RouteLength> length_of_route(EndpointId from, EndpointId to) const {
    Route route;
    if (!find(from, to, false, route)) return std::nullopt;
    return RouteLength{path_length(route), route.latency};
  }

  bool find(EndpointId from, EndpointId to, bool outlined, Route& route) const {
    route.clear();
    if (from == to) return true;
    const EndpointPlace source = place_of(cluster_.data(), from);
    const EndpointPlace target = place_of(cluster_.data(), to);
    const std::uint64_t hash = route_hash(from, to, seed_);
    if (source.copy == target.copy)
      return stretches_.between(source.copy, source.place, target.place, hash, route);
    const RailPair rails = usual_rails(source.place, target.place);
    if (between_nodes(source, target, rails, hash, outlined, route)) return true;
    return cluster_.overlay().any_failed() && detour(source, target, rails, hash, outlined, route);
  }

  /// None where links failed or have another latency, or paths are drawn by the numbers of their
  /// ends.
  [[nodiscard]] const std::optional<NodeBlocks>& blocks() const {
    std::call_once(looked_for_blocks_, [this] {
      if (routes_are_as_built()) blocks_ = NodeBlocks::find(cluster_.data());
    });
    return blocks_;
  }
  [[nodiscard]] const std::optional<NestedBlocks>& nested() const {
    std::call_once(looked_for_nested_, [this] {
      if (routes_are_as_built()) nested_ = NestedBlocks::find(cluster_.data());
    });
    return nested_;
  }
  [[nodiscard]] bool routes_are_as_built() const {
    return policy_ == RoutePolicy::automatic && !cluster_.overlay().any_failed() &&
           !cluster_.overlay().any_delayed();
  }

  [[nodiscard]] RailPair usual_rails(std::size_t from, std::size_t to) const {
    const NodeRoutes& node = stretches_.tables();
    const int own = node.rail_of(from);
    const int peer = node.rail_of(to);
    if (cluster_.data().rail_first) {
      const int common = node.is_gpu(to) || !node.is_gpu(from) ? peer : own;
      return {common, common};
    }
    const bool join_peer = !node.is_gpu(from) && node.is_gpu(to) && node.is_near(from, peer);
    const bool join_own = !node.is_gpu(to) && node.is_gpu(from) && node.is_near(to, own);
    return {join_peer ? peer : own, join_own ? own : peer};
  }

  bool between_nodes(EndpointPlace from, EndpointPlace to, RailPair rails, std::uint64_t hash,
                     bool outlined, Route& route) const {
    const auto exit = stretches_.exit(from.copy, from.place, rails.leaving);
    const auto entry = stretches_.entry(to.copy, to.place, rails.arriving);
    if (!exit || !entry || exit->plane != entry->plane) return false;
    return stretches_.leave(from.copy, from.place, rails.leaving, hash, route) &&
           (outlined ? stretches_.outline(exit->plane, exit->leaf, entry->leaf, route)
                     : stretches_.across(exit->plane, exit->leaf, entry->leaf, hash, route)) &&
           stretches_.arrive(to.copy, to.place, rails.arriving, hash, route);
  }

  /// Where the usual rails lead nowhere any longer: over the fewest others, then fewest hops, then
  /// least latency.
  bool detour(EndpointPlace from, EndpointPlace to, RailPair usual, std::uint64_t hash,
              bool outlined, Route& route) const {
    std::vector<Route> best;
    Merit best_merit;
    Route tried;
    const int rails = stretches_.tables().rails();
    for (int i = 0; i < rails * rails; ++i) {
      const RailPair way{i / rails, i % rails};
      tried.clear();
      if (!between_nodes(from, to, way, hash, false, tried)) continue;
      const int others = (way.leaving != usual.leaving) + (way.arriving != usual.arriving);
      const Merit merit{others, path_length(tried), tried.latency};
      if (!best.empty() && merit > best_merit) continue;
      if (best.empty() || merit < best_merit) best.clear();
      best_merit = merit;
      if (outlined) {
        tried.clear();
        LOCKSTEP_CHECK(between_nodes(from, to, way, hash, true, tried));
      }
      best.push_back(tried);
    }
    route.clear();
    if (best.empty()) return false;
    route = outlined ? merge_outlines(best) : choose(best, hash);
    return true;
  }

  [[nodiscard]] Route choose(const std::vector<Route>& equal, std::uint64_t hash) const {
    if (policy_ == RoutePolicy::shortest) return equal.front();
    if (policy_ == RoutePolicy::ecmp) return equal[(hash * kGoldenGamma >> 32U) % equal.size()];
    return merge_routes(cluster_, equal);
  }

  Cluster cluster_;
  RoutePolicy policy_;
  std::uint64_t seed_;
  RouteSegments stretches_;
  mutable std::once_flag looked_for_blocks_;
  mutable std::optional<NodeBlocks> blocks_;  // looked for when first asked for
  mutable std::once_flag looked_for_nested_;
  mutable std::optional<NestedBlocks> nested_;  // likewise
};

}  // namespace

std::optional<RoutePolicy> parse_route_policy(std::string_view text) {
  const auto found = std::find(kRoutePolicyNames.begin(), kRoutePolicyNames.end(), text);
  if (found == kRoutePolicyNames.end()) return std::nullopt;
  return static_cast<RoutePolicy>(found - kRoutePolicyNames.begin());
}

std::int64_t path_length(const Route& route) {
  Weight sum = 0;
  for (const Hop& hop : route.hops) sum += hop.weight;
  return static_cast<std::int64_t>((sum + kWeightUnit / 2) / kWeightUnit);
}

std::shared_ptr<const Router> make_router(const Cluster& cluster, RoutePolicy policy,
                                          std::uint64_t seed) {
  return with_delays(cluster, std::make_shared<ClusterRouter>(cluster, policy, seed));
}

}  // namespace lockstep
