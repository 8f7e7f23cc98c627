#include "tests/bench/networks.hpp"

#include <memory>

namespace lockstep {
namespace {

constexpr std::uint32_t kHostsPerLeaf = 32;
constexpr std::uint64_t kLeafBytesPerSecond = 50'000'000'000ULL * kHostsPerLeaf / 2;

/// Links 2i and 2i+1 lead from end point i to its switch and back.
void add_ports(std::uint32_t n, Network& network) {
  network.endpoints.resize(n);
  network.links.resize(std::size_t{2} * n, {400_Gbps, 1_us, true});
}

class StarRouter final : public Router {
 public:
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    route.hops.push_back({2 * from});
    route.hops.push_back({2 * to + 1});
    route.latency = 2_us;
    return true;
  }
};

/// After the ports, per leaf and spine, the link up and the link down.
class FatTreeRouter final : public Router {
 public:
  FatTreeRouter(std::uint32_t n, std::uint32_t spines) : n_{n}, spines_{spines} {}

  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    route.latency = 2_us;
    route.hops.push_back({2 * from});
    if (from / kHostsPerLeaf != to / kHostsPerLeaf) cross(from, to, route);
    route.hops.push_back({2 * to + 1});
    return true;
  }

 private:
  void cross(EndpointId from, EndpointId to, Route& route) const {
    route.paths = spines_;
    for (std::uint32_t spine = 0; spine < spines_; ++spine) {
      route.hops.push_back({trunk(from, spine), kWeightUnit / spines_});
      route.hops.push_back({trunk(to, spine) + 1, kWeightUnit / spines_});
    }
  }
  [[nodiscard]] LinkId trunk(EndpointId endpoint, std::uint32_t spine) const {
    return 2 * n_ + 2 * (endpoint / kHostsPerLeaf * spines_ + spine);
  }

  std::uint32_t n_;
  std::uint32_t spines_;
};

}  // namespace

Network star(std::uint32_t n) {
  Network network;
  add_ports(n, network);
  network.router = std::make_shared<StarRouter>();
  return network;
}

Network fat_tree(std::uint32_t n, std::uint32_t spines) {
  Network network;
  add_ports(n, network);
  const std::uint32_t trunks = n / kHostsPerLeaf * spines;
  const Link trunk{Rate::bytes_per_second(kLeafBytesPerSecond / spines), {}, false};
  network.links.resize(network.links.size() + std::size_t{2} * trunks, trunk);
  network.router = std::make_shared<FatTreeRouter>(n, spines);
  return network;
}

}  // namespace lockstep
