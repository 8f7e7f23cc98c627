#include "tests/simgrid/simgrid_platform.hpp"
#include "sim/base/check.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep {

namespace s4u = simgrid::s4u;

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

SimgridPlatform::SimgridPlatform(const std::string& name, const Network& network,
                                 SimgridLatency latency, s4u::NetZone* parent)
    : network_{network}, zone_{s4u::create_full_zone(name)} {
  if (parent != nullptr) zone_->set_parent(parent);
  for (std::size_t i = 0; i < network.endpoints.size(); ++i) {
    hosts_.push_back(zone_->create_host(fmt::format("{} host {}", name, i), 1e9));
  }
  for (std::size_t i = 0; i < network.links.size(); ++i) {
    const Link& link = network.links[i];
    links_.push_back(
        zone_->create_link(fmt::format("{} link {}", name, i), link.bandwidth.bytes_per_second()));
    if (latency == SimgridLatency::on_links) links_.back()->set_latency(link.latency.seconds());
    links_.back()->seal();
  }
}

void SimgridPlatform::add_route(EndpointId from, EndpointId to) {
  if (!routed_.insert({from, to}).second) return;
  Route route;
  if (!network_.router->route(from, to, route) || route.paths != 1) {
    throw InternalError("SimGrid needs one path from each sender to its receiver");
  }
  std::vector<s4u::LinkInRoute> path;
  for (const Hop& hop : route.hops) path.emplace_back(links_[hop.link]);
  zone_->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr, nullptr, path,
                   false);
}

}  // namespace lockstep
