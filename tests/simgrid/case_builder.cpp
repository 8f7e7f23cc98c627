#include "tests/simgrid/case_builder.hpp"

namespace lockstep {
namespace {

Activity wait_until(TimePoint start) {
  Activity wait;
  wait.duration = start.since_start();
  return wait;
}

Activity transfer(Activity::Kind kind, const Flow& flow, std::uint32_t tag) {
  Activity operation;
  operation.kind = kind;
  operation.peer = kind == Activity::Kind::send ? flow.to : flow.from;
  operation.tag = tag;
  operation.size = flow.size;
  return operation;
}

}  // namespace

Workload workload_of(const TrafficCase& traffic) {
  Workload workload;
  std::uint32_t tag = 0;
  for (const Flow& flow : traffic.flows) {
    const Activity wait = wait_until(flow.start);
    const Activity send = transfer(Activity::Kind::send, flow, tag);
    const Activity receive = transfer(Activity::Kind::receive, flow, tag);
    workload.streams.push_back({flow.from, "sender", {wait, send}});
    workload.streams.push_back({flow.to, "receiver", {wait, receive}});
    ++tag;
  }
  return workload;
}

void RouteTable::add(EndpointId from, EndpointId to, Route route) {
  routes_.try_emplace({from, to}, std::move(route));
}

bool RouteTable::route(EndpointId from, EndpointId to, Route& route) const {
  route.clear();
  if (from == to) return true;
  const auto found = routes_.find({from, to});
  if (found == routes_.end()) return false;
  route = found->second;
  return true;
}

CaseBuilder::CaseBuilder(std::string name) : routes_{std::make_shared<RouteTable>()} {
  case_.name = std::move(name);
}

EndpointId CaseBuilder::endpoint() {
  case_.network.endpoints.emplace_back();
  return static_cast<EndpointId>(case_.network.endpoints.size() - 1);
}

LinkId CaseBuilder::link(Rate bandwidth, Duration latency, bool port) {
  case_.network.links.push_back({bandwidth, latency, port});
  return static_cast<LinkId>(case_.network.links.size() - 1);
}

Cable CaseBuilder::cable(Rate bandwidth, Duration latency, bool port) {
  const LinkId up = link(bandwidth, latency, port);
  return {up, link(bandwidth, latency, port)};
}

void CaseBuilder::flow(const Flow& flow, const std::vector<LinkId>& path) {
  Route route;
  for (const LinkId id : path) {
    route.hops.push_back({id, kWeightUnit});
    route.latency += case_.network.links[id].latency;
  }
  routes_->add(flow.from, flow.to, std::move(route));
  case_.flows.push_back(flow);
}

TrafficCase CaseBuilder::build() {
  case_.network.router = routes_;
  return std::move(case_);
}

}  // namespace lockstep
