#include "tests/simgrid/cases.hpp"

#include <fmt/format.h>
#include <cstdint>
#include <random>
#include <tuple>

namespace lockstep {
namespace {

constexpr int kCasesPerFabric = 40;

/// Draws what a case leaves to chance. Uses the raw 64-bit stream only, whose values the standard
/// fixes, so that every machine draws the same.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_{seed} {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(bits_() % n); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  Rate rate() { return Rate::bytes_per_second((1ULL + below(4)) * 12'500'000'000ULL); }
  Duration latency() { return 100_ns * between(2, 30); }
  /// Between 64 KiB and 16 MiB, as likely within one power of two as within another.
  Bytes size() {
    const std::uint32_t scale = std::uint32_t{1} << between(16, 23);
    return Bytes{scale} + Bytes{below(scale)};
  }
  TimePoint start(bool staggered) {
    return TimePoint{staggered ? Duration::picoseconds(below(400'000'000)) : 0_ps};
  }

 private:
  std::mt19937_64 bits_;
};

/// One fabric under construction: hands out flows between two end points that differ.
struct Setting {
  CaseBuilder& build;
  Dice& dice;
  bool staggered;

  Cable port() { return build.cable(dice.rate(), dice.latency(), true); }
  Cable trunk(Rate rate) { return build.cable(rate, dice.latency(), false); }

  template <typename Path>
  void flows(std::uint32_t endpoints, std::uint32_t count, const Path& path) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const EndpointId from = dice.below(endpoints);
      const EndpointId to = (from + dice.between(1, endpoints - 1)) % endpoints;
      flow(from, to, path);
    }
  }

  template <typename Path>
  void flow(EndpointId from, EndpointId to, const Path& path) {
    const Bytes size = dice.size();
    build.flow({from, to, size, dice.start(staggered)}, path(from, to));
  }

  /// One port per end point.
  std::vector<Cable> ports(std::uint32_t count) {
    std::vector<Cable> cables;
    for (std::uint32_t i = 0; i < count; ++i) {
      build.endpoint();
      cables.push_back(port());
    }
    return cables;
  }

  std::vector<Cable> trunks(std::uint32_t count, Rate rate) {
    std::vector<Cable> cables;
    for (std::uint32_t i = 0; i < count; ++i) cables.push_back(trunk(rate));
    return cables;
  }
};

/// Everybody sends to end point 0, besides traffic between random pairs.
void incast_star(Setting& setting) {
  const std::uint32_t hosts = setting.dice.between(8, 24);
  const auto ports = setting.ports(hosts);
  const auto path = [&](EndpointId from, EndpointId to) {
    return std::vector<LinkId>{ports[from].up, ports[to].down};
  };
  for (EndpointId from = 1; from < hosts; ++from) setting.flow(from, 0, path);
  setting.flows(hosts, hosts, path);
}

/// Two levels; the receiver picks the spine. Each leaf has half as many trunks as hosts or fewer.
void fat_tree(Setting& setting) {
  const std::uint32_t leaves = setting.dice.between(3, 6);
  const std::uint32_t per_leaf = setting.dice.between(4, 6);
  const std::uint32_t spines = setting.dice.between(1, 2);
  const auto ports = setting.ports(leaves * per_leaf);
  const auto trunks = setting.trunks(leaves * spines, setting.dice.rate());
  setting.flows(leaves * per_leaf, 3 * leaves * per_leaf, [&](EndpointId from, EndpointId to) {
    const std::uint32_t above = from / per_leaf;
    const std::uint32_t below = to / per_leaf;
    if (above == below) return std::vector<LinkId>{ports[from].up, ports[to].down};
    const std::uint32_t spine = to % spines;
    return std::vector<LinkId>{ports[from].up, trunks[above * spines + spine].up,
                               trunks[below * spines + spine].down, ports[to].down};
  });
}

/// Appends the links of the shorter way round a ring of `length`; at(position, forwards) names the
/// link that leaves a position.
template <typename At>
void walk_ring(std::uint32_t from, std::uint32_t to, std::uint32_t length, const At& at,
               std::vector<LinkId>& path) {
  const std::uint32_t ahead = (to + length - from) % length;
  const bool forwards = ahead <= length / 2;
  const std::uint32_t hops = forwards ? ahead : length - ahead;
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    path.push_back(at(from, forwards));
    from = (from + (forwards ? 1 : length - 1)) % length;
  }
}

/// Rows first, then columns; every node has one outgoing link in each of four directions.
void torus(Setting& setting) {
  const std::uint32_t width = setting.dice.between(3, 6);
  const std::uint32_t height = setting.dice.between(3, 5);
  const std::uint32_t nodes = width * height;
  for (std::uint32_t i = 0; i < nodes; ++i) setting.build.endpoint();
  std::vector<LinkId> leaving;  // four per node: +x, -x, +y, -y
  for (std::uint32_t i = 0; i < 4 * nodes; ++i) {
    leaving.push_back(setting.build.link(setting.dice.rate(), setting.dice.latency(), true));
  }
  setting.flows(nodes, 3 * nodes, [&](EndpointId from, EndpointId to) {
    std::vector<LinkId> path;
    const auto along_row = [&](std::uint32_t x, bool forwards) {
      return leaving[4 * (from / width * width + x) + (forwards ? 0U : 1U)];
    };
    const auto along_column = [&](std::uint32_t y, bool forwards) {
      return leaving[4 * (y * width + to % width) + (forwards ? 2U : 3U)];
    };
    walk_ring(from % width, to % width, width, along_row, path);
    walk_ring(from / width, to / width, height, along_column, path);
    return path;
  });
}

/// Groups of fully connected routers, one global cable between any two groups; least hops.
class Dragonfly {
 public:
  Dragonfly(Setting& setting, std::uint32_t groups, std::uint32_t routers, std::uint32_t hosts)
      : groups_{groups},
        routers_{routers},
        hosts_{hosts},
        ports_{setting.ports(groups * routers * hosts)} {
    for (std::uint32_t i = 0; i < groups * routers * routers; ++i) {
      local_.push_back(setting.build.link(setting.dice.rate(), setting.dice.latency(), false));
    }
    for (std::uint32_t i = 0; i < groups * groups; ++i) {
      global_.push_back(setting.build.link(setting.dice.rate(), setting.dice.latency(), false));
    }
  }

  [[nodiscard]] std::vector<LinkId> path(EndpointId from, EndpointId to) const {
    std::vector<LinkId> links{ports_[from].up};
    const std::uint32_t source = from / hosts_;
    const std::uint32_t target = to / hosts_;
    const std::uint32_t here = source / routers_;
    const std::uint32_t there = target / routers_;
    if (here == there) {
      hop(source, target, links);
    } else {
      hop(source, gateway(here, there), links);
      links.push_back(global_[here * groups_ + there]);
      hop(gateway(there, here), target, links);
    }
    links.push_back(ports_[to].down);
    return links;
  }

 private:
  [[nodiscard]] std::uint32_t gateway(std::uint32_t group, std::uint32_t towards) const {
    return group * routers_ + towards % routers_;
  }
  void hop(std::uint32_t router, std::uint32_t next, std::vector<LinkId>& links) const {
    if (router != next) links.push_back(local_[router * routers_ + next % routers_]);
  }

  std::uint32_t groups_;
  std::uint32_t routers_;
  std::uint32_t hosts_;
  std::vector<Cable> ports_;
  std::vector<LinkId> local_;   // per router, towards each router of its group
  std::vector<LinkId> global_;  // per group, towards each group
};

void dragonfly(Setting& setting) {
  const std::uint32_t groups = setting.dice.between(3, 5);
  const std::uint32_t routers = setting.dice.between(2, 3);
  const std::uint32_t hosts = groups * routers * 2;
  const Dragonfly fabric{setting, groups, routers, 2};
  setting.flows(hosts, 3 * hosts,
                [&](EndpointId from, EndpointId to) { return fabric.path(from, to); });
}

/// Nodes of four or eight GPUs on an NVSwitch, with fewer NICs than GPUs.
void shared_nics(Setting& setting) {
  const std::uint32_t nodes = setting.dice.between(3, 5);
  const std::uint32_t gpus = 4 * setting.dice.between(1, 2);
  const std::uint32_t nics = setting.dice.between(1, 2);
  const auto nvlinks = setting.ports(nodes * gpus);
  const auto pcie = setting.trunks(nodes * gpus, 32_GBps);
  std::vector<Cable> uplinks;
  for (std::uint32_t i = 0; i < nodes * nics; ++i) uplinks.push_back(setting.port());
  setting.flows(nodes * gpus, 2 * nodes * gpus, [&](EndpointId from, EndpointId to) {
    if (from / gpus == to / gpus) return std::vector<LinkId>{nvlinks[from].up, nvlinks[to].down};
    const auto nic = [&](EndpointId gpu) { return uplinks[gpu / gpus * nics + gpu % nics]; };
    return std::vector<LinkId>{pcie[from].up, nic(from).up, nic(to).down, pcie[to].down};
  });
}

using Fabric = void (*)(Setting&);
constexpr std::tuple<const char*, Fabric> kFabrics[] = {{"incast star", incast_star},
                                                        {"fat tree", fat_tree},
                                                        {"torus", torus},
                                                        {"dragonfly", dragonfly},
                                                        {"shared NICs", shared_nics}};

}  // namespace

std::vector<TrafficCase> contended_cases() {
  std::vector<TrafficCase> cases;
  for (const auto& [name, fabric] : kFabrics) {
    for (int i = 0; i < kCasesPerFabric; ++i) {
      const bool staggered = i % 2 == 1;
      CaseBuilder builder{fmt::format("{} {}{}", name, i, staggered ? ", staggered" : "")};
      Dice dice{cases.size() + 1};
      Setting setting{builder, dice, staggered};
      fabric(setting);
      cases.push_back(builder.build());
    }
  }
  return cases;
}

}  // namespace lockstep
