#include "sim/network/maxmin/fluid_transport.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

namespace maxmin {

namespace {

std::vector<std::uint64_t> capacities(const Network& network) {
  std::vector<std::uint64_t> out;
  out.reserve(network.links.size());
  for (const Link& link : network.links) out.push_back(link.bandwidth.steps());
  return out;
}

}  // namespace

FluidTransport::FluidTransport(const Network& network, bool ports_only)
    : ports_only_{ports_only},
      twins_(capacities(network), network.may_have_twins),
      flows_(network.links.size()),
      sparse_shares_(capacities(network)),
      solver_(capacities(network)),
      first_cap_link_{network.links.size()} {
  port_.reserve(network.links.size());
  for (const Link& link : network.links) port_.push_back(link.port);
}

std::unique_ptr<Transport> FluidTransport::clone() const {
  return std::make_unique<FluidTransport>(*this);
}

std::uint32_t FluidTransport::start(const Message& message, const Route& route, EventQueue& queue) {
  const FlowId id = make_flow(message, route);
  start_again(id, message.at, queue);
  return id;
}

FlowId FluidTransport::make_flow(const Message& message, const Route& route) {
  const Weight unit = flows_.unit();
  const FlowId id = create_flow(message, route);
  if (flows_.unit() != unit)  // what fillings remember is in the old unit
    for (Component& component : components_) {
      component.checkpoints.forget();
      component.whole = true;
    }
  Flow& flow = flows_.flow(id);
  flow.bytes = route.hops.empty() ? 0 : message.size.count();
  flows_.latency(id) = route.latency;
  flow.weighted = message.weight != 1;
  if (flow.weighted) flows_.traffic_weight(id) = message.weight;
  flow.keep = message.keep;
  flow.eager = message.eager;
  return id;
}

std::vector<Transport::Transit> FluidTransport::hand_over(TimePoint now) {
  std::vector<Transit> out;
  for (FlowId id = 0; id < flows_.size(); ++id) {
    const Flow& flow = flows_.flow(id);
    if (flow.state == Flow::State::gone) continue;
    Transit& transit = out.emplace_back();
    transit.id = id;
    transit.message = {.transfer = flow.transfer,
                       .size = Bytes{flow.bytes},
                       .at = now,
                       .weight = flow.weighted ? flows_.traffic_weight(id) : TrafficWeight{1},
                       .keep = flow.keep,
                       .eager = flow.eager};
    transit.on_links = flow.state != Flow::State::travelling;
    if (transit.on_links) take_off_links(id, now);
    transit.work = flow.work;
    destroy(id);
  }
  joining_.clear();
  dirty_.clear();
  for (ComponentId id = 0; id < components_.size(); ++id)
    if (components_[id].flows > 0 || components_[id].dirty) release(id);
  return out;
}

/// Flow::work becomes what is left at `now`.
void FluidTransport::take_off_links(FlowId id, TimePoint now) {
  Flow& flow = flows_.flow(id);
  if (!sparse_)
    for (const FlowHop& hop : flows_.hops(flow)) use_[hop.link] = {};
  if (flow.state == Flow::State::joining) return;
  if (!sparse_ && flow.state == Flow::State::sharing) {
    const LinkId group = flows_.group(id);
    solver_.advance({&group, 1}, now.ps());
    solver_.ungroup(flows_, id);
    flows_.detach(id);
    return;
  }
  flow.work -= static_cast<Int128>(flow.rate) * (now.ps() - flow.since_ps);
  if (sparse_) sparse_shares_.detach(flows_, id);
}

std::uint32_t FluidTransport::take_over(const Transit& transit, const Route& route) {
  const FlowId id = make_flow(transit.message, route);
  flows_.flow(id).work = transit.work;
  if (transit.on_links) arrive(id);
  return id;
}

void FluidTransport::start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) {
  Flow& flow = flows_.flow(kept);
  flow.work = work_of(Bytes{flow.bytes});
  if (flow.weighted) {
    const TrafficWeight weight = flows_.traffic_weight(kept);
    flow.work = (flow.work + (weight - 1)) / weight;
  }
  flow.state = Flow::State::travelling;
  const auto kind = flow.bytes == 0 ? TransportEvent::delivered : TransportEvent::arrive;
  const Duration before = flow.eager ? Duration{} : flows_.latency(kept);
  queue.push(make_event(kind, kept, at + before, flow.version));
}

void FluidTransport::drop(std::uint32_t kept) {
  destroy(kept);
}

void FluidTransport::destroy(FlowId id) {
  if (ports_only_)
    for (const FlowHop& hop : flows_.hops(flows_.flow(id)))
      if (hop.link >= first_cap_link_) {
        if (!sparse_) leave_component(hop.link);
        cap_links_.push_back(hop.link);
      }
  flows_.destroy(id);
}

/// A flow of weight w is w flows in one: w times the weight on every link, and 1/w of the work.
FlowId FluidTransport::create_flow(const Message& message, const Route& route) {
  std::span<const Hop> hops = route.hops;
  if (ports_only_) {
    own_hops_.clear();
    for (const Hop& hop : route.hops)
      if (port_[hop.link]) own_hops_.push_back(hop);
    hops = own_hops_;
  }
  twins_.resolve(hops, spoken_hops_,
                 [this](const LinkTwins::Parting& parting) { follow(parting); });
  if (ports_only_)
    if (const std::uint64_t cap = cap_beyond_ports(route); cap != 0)
      spoken_hops_.push_back({take_cap_link(cap), kWeightUnit});
  if (message.weight != 1)
    for (Hop& hop : spoken_hops_) hop.weight *= message.weight;
  return flows_.create(message.transfer, spoken_hops_);
}

/// A link that stood for itself and a twin now has the twin at its side, in the same state.
void FluidTransport::follow(const LinkTwins::Parting& parting) {
  const auto [known, added] = parting;
  if (flows_.users(known) == 0) return;
  if (sparse_) return follow_sparse(parting);
  use_[added] = use_[known];
  component_of_[added] = component_of_[known];
  if (const ComponentId owner = component_of_[added]; owner != kNone) {
    components_[owner].links.push_back(added);
    components_[owner].checkpoints.forget();
    components_[owner].whole = true;
  }
  if (flows_.users(known) == flows_.on_link(known).size()) {
    for (const Crossing crossing : flows_.on_link(known))
      flows_.add_hop(crossing.flow, known, added);
    return;
  }
  for (FlowId id = 0; id < flows_.size(); ++id)
    if (flows_.crosses(id, known)) flows_.add_hop(id, known, added);
}

/// The route's smallest bandwidth in rate steps where no port on it is as small; else 0.
std::uint64_t FluidTransport::cap_beyond_ports(const Route& route) const {
  std::uint64_t cap = UINT64_MAX;
  std::uint64_t ports = UINT64_MAX;
  for (const Hop& hop : route.hops) {
    const auto alone = static_cast<std::uint64_t>(std::min<UInt128>(
        static_cast<UInt128>(solver_.capacity(hop.link)) * kWeightUnit / hop.weight,
        Rate::kMaxSteps));
    cap = std::min(cap, alone);
    if (port_[hop.link]) ports = std::min(ports, alone);
  }
  return cap < ports ? cap : 0;
}

LinkId FluidTransport::take_cap_link(std::uint64_t capacity) {
  if (!cap_links_.empty()) {
    const LinkId link = cap_links_.back();
    cap_links_.pop_back();
    solver_.set_capacity(link, capacity);
    sparse_shares_.set_capacity(link, capacity);
    return link;
  }
  sparse_shares_.add_link(capacity);
  flows_.add_link();
  const LinkId link = solver_.add_link(capacity);
  if (sparse_) return link;
  component_of_.push_back(kNone);
  use_.emplace_back();
  visited_.push_back(0);
  return link;
}

void FluidTransport::handle(const Event& event, EventQueue& queue,
                            std::vector<TransferId>& arrived) {
  switch (static_cast<TransportEvent>(event.kind)) {
    case TransportEvent::delivered:
      deliver(event.id, queue, arrived);
      return;
    case TransportEvent::arrive:
      arrive(event.id);
      return;
    case TransportEvent::flow_ends:
      if (flows_.flow(event.id).version != event.version) return;
      if (sparse_) {
        end_sparse(event.id, queue, arrived);
      } else {
        end_alone(event.id, queue, arrived);
      }
      return;
    case TransportEvent::left:
      break;
    case TransportEvent::group_ends:
      if ((components_[event.id].version & kVersionMask) == event.version)
        end_in_component(event.id, queue, arrived);
      return;
  }
  LOCKSTEP_CHECK(false);
}

void FluidTransport::arrive(FlowId id) {
  Flow& flow = flows_.flow(id);
  flow.state = Flow::State::joining;
  if (!sparse_)
    for (const FlowHop& hop : flows_.hops(flow)) ++use_[hop.link].crossing;
  joining_.push_back(id);
}

void FluidTransport::end_alone(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived) {
  for (const FlowHop& hop : flows_.hops(flows_.flow(id))) use_[hop.link].alone = kNone;
  retire(id, queue, arrived);
}

/// The flow's last byte is through: it leaves its links, and one that is kept is on none.
void FluidTransport::retire(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived) {
  Flow& flow = flows_.flow(id);
  if (flow.state == Flow::State::sharing) flows_.detach(id);
  flow.state = Flow::State::travelling;
  for (const FlowHop& hop : flows_.hops(flow)) --use_[hop.link].crossing;
  deliver(id, queue, arrived);
}

void FluidTransport::deliver(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived) {
  Flow& flow = flows_.flow(id);
  if (flow.eager) {  // on its way still, but off its links
    flow.eager = false;
    queue.push(make_event(TransportEvent::left, flow.transfer, queue.now()));
    queue.push(make_event(TransportEvent::delivered, id, queue.now() + flows_.latency(id)));
    return;
  }
  arrived.push_back(flow.transfer);
  if (!flow.keep) destroy(id);
}

void FluidTransport::end_in_component(ComponentId id, EventQueue& queue,
                                      std::vector<TransferId>& arrived) {
  Component& component = components_[id];
  ended_.clear();
  for (const LinkId link : component.due) {
    const std::size_t before = ended_.size();
    solver_.take_ended(flows_, link, queue.now().ps(), ended_);
    for (std::size_t i = before; i < ended_.size(); ++i)
      for (const FlowHop& hop : flows_.hops(flows_.flow(ended_[i]))) {
        component.checkpoints.change(hop.link, hop.weight, false, solver_.level(link));
        component.changed.push_back(hop.link);
      }
  }
  LOCKSTEP_CHECK(!ended_.empty());
  const auto count = static_cast<std::uint32_t>(ended_.size());
  component.flows -= count;
  component.left_since_built += count;
  for (const FlowId flow : ended_) retire(flow, queue, arrived);
  touch(id);
}

void FluidTransport::touch(ComponentId id) {
  Component& component = components_[id];
  if (component.dirty) return;
  component.dirty = true;
  dirty_.push_back(id);
}

void FluidTransport::settle(EventQueue& queue) {
  if (sparse_) settle_sparse(queue);
  if (sparse_) return;
  for (const FlowId id : joining_) {
    if (crosses_nobody(id)) {
      begin_alone(id, queue);
    } else {
      join(id, queue.now());
    }
  }
  joining_.clear();
  for (const ComponentId id : dirty_) {
    Component& component = components_[id];
    if (!component.dirty) continue;  // merged into another
    component.dirty = false;
    if (component.flows == 0) {
      release(id);
    } else if (component.left_since_built >= component.flows) {
      rebuild(id, queue);
    } else {
      solve(id, queue);
    }
  }
  dirty_.clear();
}

}  // namespace maxmin

std::unique_ptr<Transport> make_fluid_transport(const Network& network) {
  return std::make_unique<maxmin::FluidTransport>(network, false);
}

std::unique_ptr<Transport> make_alpha_beta_transport(const Network& network) {
  return std::make_unique<maxmin::FluidTransport>(network, true);
}

}  // namespace lockstep
