#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/network.hpp"

namespace lockstep::test {

/// Routes written down pair by pair.
class ListedRoutes final : public Router {
 public:
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    const auto found = routes.find({from, to});
    if (found == routes.end()) return false;
    route = found->second;
    return true;
  }
  std::map<std::pair<EndpointId, EndpointId>, Route> routes;
};

/// A test bed: links with a rate, flows with the links they cross, and the time each flow ends.
/// Every flow has end points of its own, so that nothing but the links relates them.
class Bed {
 public:
  /// No latency unless given: the tests' arithmetic is then about shares alone.
  LinkId link(Rate rate, Duration latency = {}, bool port = true) {
    network_.links.push_back({rate, latency, port});
    return static_cast<LinkId>(network_.links.size() - 1);
  }

  /// A flow over one path. Returns its index.
  std::size_t flow(Bytes size, const std::vector<LinkId>& path, TimePoint start = {}) {
    Route route;
    for (const LinkId link : path) {
      route.hops.push_back({link, kWeightUnit});
      route.latency += network_.links[link].latency;
    }
    return flow_on(size, route, start);
  }

  std::size_t flow_on(Bytes size, const Route& route, TimePoint start = {},
                      TrafficWeight weight = 1) {
    const auto from = static_cast<EndpointId>(network_.endpoints.size());
    network_.endpoints.resize(network_.endpoints.size() + 2);
    routes_->routes[{from, from + 1}] = route;
    Activity wait;
    wait.duration = start.since_start();
    Activity send;
    send.kind = Activity::Kind::send;
    send.peer = from + 1;
    send.size = size;
    send.traffic_weight = weight;
    Activity receive = send;
    receive.kind = Activity::Kind::receive;
    receive.peer = from;
    workload_.streams.push_back({from, "sender", {wait, send}});
    workload_.streams.push_back({from + 1, "receiver", {wait, receive}});
    return workload_.streams.size() / 2 - 1;
  }

  /// When each flow ends, in picoseconds.
  [[nodiscard]] std::vector<std::int64_t> ends(NetworkModel model = NetworkModel::fluid) {
    network_.router = routes_;
    result_ = replay(network_, workload_, model);
    std::vector<std::int64_t> out;
    for (std::size_t i = 1; i < result_.stream_ends.size(); i += 2)
      out.push_back(result_.stream_ends[i].back().ps());
    return out;
  }

  [[nodiscard]] const ReplayResult& result() const { return result_; }

 private:
  Network network_;
  Workload workload_;
  std::shared_ptr<ListedRoutes> routes_ = std::make_shared<ListedRoutes>();
  ReplayResult result_;
};

/// With links in GB/s and sizes in kB, times come out in whole microseconds: 1 kB at 1 GB/s is 1
/// us.
inline constexpr std::int64_t kMicrosecond = 1'000'000;
inline Bytes kilobytes(std::int64_t n) {
  return Bytes{1000 * n};
}
inline TimePoint at_us(std::int64_t n) {
  return TimePoint{Duration::picoseconds(n * kMicrosecond)};
}

}  // namespace lockstep::test
