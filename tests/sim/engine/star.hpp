#pragma once

#include <memory>

#include "sim/network/network.hpp"

namespace lockstep::test {

/// Hosts on one switch, full duplex: link 2i goes from host i to the switch, 2i+1 comes back.
class StarRouter final : public Router {
 public:
  explicit StarRouter(Duration latency) : latency_{latency} {}
  bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    route.hops.push_back({2 * from, kWeightUnit});
    route.hops.push_back({2 * to + 1, kWeightUnit});
    route.latency = latency_;
    return true;
  }

 private:
  Duration latency_;
};

/// `latency` end to end; half of it on each link.
inline Network star(std::size_t hosts, Rate bandwidth, Duration latency, Endpoint endpoint = {}) {
  Network network;
  const Duration half = Duration::picoseconds(latency.ps() / 2);
  network.links.assign(2 * hosts, Link{bandwidth, half, true});
  network.endpoints.assign(hosts, endpoint);
  network.router = std::make_shared<StarRouter>(latency);
  return network;
}

}  // namespace lockstep::test
