#include "sim/reuse/learned_ends.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Calls of a shape that may be met before it has to pay.
constexpr std::uint64_t kFree = 32;

/// Routes between the members of a call.
class RoutesOfCall final : public Router {
 public:
  explicit RoutesOfCall(std::unordered_map<MessageWay, Route, MessageWayHash> routes)
      : routes_{std::move(routes)} {}
  [[nodiscard]] bool by_channel() const override { return true; }
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    return route_of(from, to, 0, route);
  }
  [[nodiscard]] bool route_of(EndpointId from, EndpointId to, std::uint32_t channel,
                              Route& route) const override {
    const auto found = routes_.find({from, to, channel});
    if (found == routes_.end()) return false;
    route = found->second;
    return true;
  }

 private:
  std::unordered_map<MessageWay, Route, MessageWayHash> routes_;
};

}  // namespace

std::uint32_t LearnedEnds::add_shape(const fold::Key& shape) {
  const auto [found, is_new] =
      numbers_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
  if (is_new) shapes_.emplace_back();
  return found->second;
}

bool LearnedEnds::pays(std::uint32_t shape) const {
  return shapes_[shape].met < kFree + shapes_[shape].known;
}

std::optional<std::vector<TimePoint>> LearnedEnds::ends(std::uint32_t shape,
                                                        const std::vector<TimePoint>& begins,
                                                        const Replay& replay) {
  const TimePoint first = *std::min_element(begins.begin(), begins.end());
  fold::KeyBuilder key;
  for (const TimePoint begin : begins) key.add((begin - first).ps());
  std::map<fold::Key, std::vector<Duration>>& known = shapes_[shape].ends;
  auto found = known.find(key.key());
  if (found == known.end()) {
    if (room_ < begins.size()) return std::nullopt;
    room_ -= begins.size();
    std::vector<TimePoint> from_zero;
    for (const TimePoint begin : begins) from_zero.push_back(TimePoint{begin - first});
    std::vector<Duration> after_first;
    for (const TimePoint end : replay(from_zero)) after_first.push_back(end.since_start());
    LOCKSTEP_CHECK(after_first.size() == begins.size());
    found = known.emplace(key.key(), std::move(after_first)).first;
  } else {
    ++shapes_[shape].known;
  }
  std::vector<TimePoint> out;
  out.reserve(begins.size());
  for (const Duration after : found->second) out.push_back(first + after);
  return out;
}

Network network_of_call(const Network& network, const CollectiveCall& call,
                        const std::vector<MessageWay>& ways, const TightRoutes& routes) {
  Network out;
  out.may_have_twins = network.may_have_twins;
  std::unordered_map<EndpointId, EndpointId> member_at;
  for (const EndpointId each : call.members) {
    member_at.emplace(each, static_cast<EndpointId>(out.endpoints.size()));
    out.endpoints.push_back(network.endpoints[each]);
  }
  std::unordered_map<LinkId, LinkId> number;
  std::unordered_map<MessageWay, Route, MessageWayHash> renumbered;
  for (const MessageWay& way : ways) {
    Route route = routes.of(way).route;
    for (Hop& hop : route.hops) {
      const auto [found, is_new] =
          number.try_emplace(hop.link, static_cast<LinkId>(out.links.size()));
      if (is_new) out.links.push_back(network.links[hop.link]);
      hop.link = found->second;
    }
    renumbered.emplace(MessageWay{member_at.at(way.from), member_at.at(way.to), way.tag},
                       std::move(route));
  }
  out.router = std::make_shared<RoutesOfCall>(std::move(renumbered));
  return out;
}

}  // namespace lockstep
