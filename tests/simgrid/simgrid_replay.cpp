#include "tests/simgrid/simgrid_replay.hpp"

#include <fmt/format.h>
#include <set>
#include <simgrid/s4u.hpp>
#include <stdexcept>

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

double seconds(TimePoint time) {
  return time.since_start().seconds();
}

/// One case as a SimGrid zone, without latencies: CM02 would share links in inverse proportion to
/// them, so the senders wait for them instead.
class Platform {
 public:
  Platform(const TrafficCase& traffic, s4u::NetZone* root)
      : traffic_{traffic}, zone_{s4u::create_full_zone(traffic.name)} {
    zone_->set_parent(root);
    for (std::size_t i = 0; i < traffic.network.endpoints.size(); ++i) {
      hosts_.push_back(zone_->create_host(fmt::format("{} host {}", traffic.name, i), 1e9));
    }
    for (std::size_t i = 0; i < traffic.network.links.size(); ++i) {
      const double bandwidth = traffic.network.links[i].bandwidth.bytes_per_second();
      links_.push_back(zone_->create_link(fmt::format("{} link {}", traffic.name, i), bandwidth));
      links_.back()->seal();
    }
    for (const Flow& flow : traffic.flows) add_route(flow);
    zone_->seal();
  }

  /// One actor per flow; each writes its end into `ends`.
  void start(std::vector<double>& ends) const {
    ends.resize(traffic_.flows.size());
    for (std::size_t i = 0; i < traffic_.flows.size(); ++i) {
      const Flow& flow = traffic_.flows[i];
      const double begin = seconds(flow.start + route(flow).latency);
      const auto bytes = static_cast<std::uint64_t>(flow.size.count());
      s4u::Host* const from = hosts_[flow.from];
      s4u::Host* const to = hosts_[flow.to];
      s4u::Actor::create("sender", from, [=, end = &ends[i]] {
        s4u::this_actor::sleep_until(begin);
        s4u::Comm::sendto(from, to, bytes);
        *end = s4u::Engine::get_clock();
      });
    }
  }

 private:
  [[nodiscard]] Route route(const Flow& flow) const {
    Route route;
    if (!traffic_.network.router->route(flow.from, flow.to, route)) {
      throw std::logic_error("a flow without a route");
    }
    return route;
  }

  void add_route(const Flow& flow) {
    if (!routed_.insert({flow.from, flow.to}).second) return;
    std::vector<s4u::LinkInRoute> path;
    for (const Hop& hop : route(flow).hops) path.emplace_back(links_[hop.link]);
    zone_->add_route(hosts_[flow.from]->get_netpoint(), hosts_[flow.to]->get_netpoint(), nullptr,
                     nullptr, path, false);
  }

  const TrafficCase& traffic_;
  s4u::NetZone* zone_;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> links_;
  std::set<std::pair<EndpointId, EndpointId>> routed_;
};

}  // namespace

void start_simgrid() {
  static const char* arguments[] = {"lockstep",
                                    "--log=root.thres:critical",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/TCP-gamma:0",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/weight-S:0",
                                    "--cfg=surf/precision:1e-15",
                                    "--cfg=maxmin/precision:1e-12",
                                    nullptr};
  int count = static_cast<int>(std::size(arguments)) - 1;
  static s4u::Engine engine{&count, const_cast<char**>(arguments)};
}

std::vector<std::vector<double>> replay_in_simgrid(const std::vector<TrafficCase>& cases) {
  start_simgrid();
  s4u::NetZone* const root = s4u::create_full_zone("all");
  std::vector<std::vector<double>> ends(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) Platform{cases[i], root}.start(ends[i]);
  root->seal();
  s4u::Engine::get_instance()->run();
  return ends;
}

}  // namespace lockstep
