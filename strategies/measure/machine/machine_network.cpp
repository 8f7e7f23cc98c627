#include "strategies/measure/machine/machine_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// What a copy from the memory of one GPU to another crosses.
struct PairWay {
  LinkId way = 0;
  LinkId both = 0;  // what it shares with copies the other way
  Duration latency{};
};

class MachineRouter final : public Router {
 public:
  MachineRouter(Duration latency, std::map<std::pair<int, int>, PairWay> pairs)
      : latency_{latency}, pairs_{std::move(pairs)} {}

  /// What runs on a GPU fetches from a memory.
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from == to) return true;
    const auto here = static_cast<int>(from / 2);
    const auto there = static_cast<int>(to / 2);
    if (here == there) {
      route.hops.push_back({memory(here), kWeightUnit});
      route.latency = latency_;
      return true;
    }
    const auto found = pairs_.find({there, here});
    if (found == pairs_.end()) return false;
    route.hops = {{memory(there) + 1, kWeightUnit},
                  {found->second.way, kWeightUnit},
                  {found->second.both, kWeightUnit},
                  {memory(here) + 2, kWeightUnit}};
    route.latency = found->second.latency;
    return true;
  }
  /// Of a GPU: its memory, all that it sends, all that it gets.
  [[nodiscard]] static LinkId memory(int device) { return static_cast<LinkId>(3 * device); }

 private:
  Duration latency_;
  std::map<std::pair<int, int>, PairWay> pairs_;
};

class Building {
 public:
  Building(const MachineFit& fit, int devices) : fit_{fit} {
    const Rate port = fit.links.port.value_or(fit.model.memory_bandwidth);
    for (int device = 0; device < devices; ++device) {
      out_.links.push_back({fit.model.memory_bandwidth, fit.empty_copy, true});
      out_.links.push_back({port, Duration{}, true});
      out_.links.push_back({port, Duration{}, true});
    }
    out_.endpoints.resize(2 * static_cast<std::size_t>(devices));
    for (const MachineLink& link : fit.links.pairs) {
      if (link.from < devices && link.to < devices) add(link);
    }
  }

  [[nodiscard]] Network take() {
    out_.router = std::make_shared<const MachineRouter>(fit_.empty_copy, std::move(pairs_));
    return std::move(out_);
  }

 private:
  [[nodiscard]] LinkId add_link(double rate) {
    out_.links.push_back(
        {Rate::bytes_per_second(std::max<std::int64_t>(1, std::llround(rate))), Duration{}, true});
    return static_cast<LinkId>(out_.links.size() - 1);
  }
  void add(const MachineLink& link) {
    PairWay way;
    way.way = add_link(link.bandwidth.bytes_per_second());
    way.latency = link.latency;
    const auto other = pairs_.find({link.to, link.from});
    way.both = other == pairs_.end() ? add_link(both_ways(link)) : other->second.both;
    pairs_[{link.from, link.to}] = way;
  }
  /// What a pair carries both ways together, no less than either alone.
  [[nodiscard]] double both_ways(const MachineLink& link) const {
    double rate = link.bandwidth.bytes_per_second();
    double sum = 2 * rate;
    for (const MachineLink& each : fit_.links.pairs) {
      if (each.from != link.to || each.to != link.from) continue;
      sum = rate + each.bandwidth.bytes_per_second();
      rate = std::max(rate, each.bandwidth.bytes_per_second());
    }
    return std::max(rate, sum / fit_.links.both_ways);
  }

  const MachineFit& fit_;
  Network out_{};
  std::map<std::pair<int, int>, PairWay> pairs_{};
};

}  // namespace

Network machine_network(const MachineFit& fit, int devices) {
  return Building{fit, devices}.take();
}

}  // namespace lockstep
