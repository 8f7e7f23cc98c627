#include "tests/simgrid/simgrid_replay.hpp"

#include "tests/simgrid/simgrid_platform.hpp"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

double seconds_until_sending(const Network& network, const Flow& flow) {
  Route route;
  (void)network.router->route(flow.from, flow.to, route);
  return (flow.start + route.latency).since_start().seconds();
}

/// One actor per flow, which waits for the start and the latency, sends, and notes the end.
void start_flow(const Flow& flow, double begin, const SimgridPlatform& platform, double& end) {
  s4u::Host* const from = platform.host(flow.from);
  s4u::Host* const to = platform.host(flow.to);
  const auto bytes = static_cast<std::uint64_t>(flow.size.count());
  s4u::Actor::create("sender", from, [=, &end] {
    s4u::this_actor::sleep_until(begin);
    s4u::Comm::sendto(from, to, bytes);
    end = s4u::Engine::get_clock();
  });
}

void start_case(const TrafficCase& traffic, s4u::NetZone* root, std::vector<double>& ends) {
  SimgridPlatform platform{traffic.name, traffic.network, SimgridLatency::none, root};
  for (const Flow& flow : traffic.flows) platform.add_route(flow.from, flow.to);
  platform.seal();
  ends.resize(traffic.flows.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Flow& flow = traffic.flows[i];
    start_flow(flow, seconds_until_sending(traffic.network, flow), platform, ends[i]);
  }
}

}  // namespace

std::vector<std::vector<double>> replay_in_simgrid(const std::vector<TrafficCase>& cases) {
  start_simgrid();
  s4u::NetZone* const root = s4u::create_full_zone("all");
  std::vector<std::vector<double>> ends(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) start_case(cases[i], root, ends[i]);
  root->seal();
  s4u::Engine::get_instance()->run();
  return ends;
}

}  // namespace lockstep
