#include "sim/network/fluid/fluid_transport.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace lockstep {

namespace fluid {

namespace {

std::vector<std::uint64_t> capacities(const Network& network) {
  std::vector<std::uint64_t> out;
  out.reserve(network.links.size());
  for (const Link& link : network.links) out.push_back(link.bandwidth.steps());
  return out;
}

Event event_of(TransportEvent kind, std::uint32_t id, std::uint32_t version, TimePoint at) {
  Event event;
  event.at_ps = at.ps();
  event.id = id;
  event.kind = static_cast<std::uint32_t>(kind) & 15U;
  event.version = version & kVersionMask;
  return event;
}

}  // namespace

FluidTransport::FluidTransport(const Network& network, bool ports_only)
    : ports_only_{ports_only},
      twins_(capacities(network)),
      flows_(network.links.size()),
      sharing_(capacities(network)),
      component_of_(network.links.size(), kNone),
      use_(network.links.size()),
      visited_(network.links.size(), 0),
      first_cap_link_{network.links.size()} {
  port_.reserve(network.links.size());
  for (const Link& link : network.links) port_.push_back(link.port);
}

std::unique_ptr<Transport> FluidTransport::clone() const {
  return std::make_unique<FluidTransport>(*this);
}

std::uint32_t FluidTransport::start(TransferId transfer, const Route& route, Bytes size,
                                    TimePoint at, bool keep, EventQueue& queue) {
  const Weight unit = flows_.unit();
  const FlowId id = create_flow(transfer, route);
  if (flows_.unit() != unit)  // what fillings remember is in the old unit
    for (Component& component : components_) component.history.forget();
  Flow& flow = flows_.flow(id);
  flow.size = route.hops.empty() ? 0 : work_of(size);
  flow.latency = route.latency;
  flow.keep = keep;
  start_again(id, at, queue);
  return id;
}

void FluidTransport::start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) {
  Flow& flow = flows_.flow(kept);
  flow.work = flow.size;
  flow.state = Flow::State::travelling;
  const auto kind = flow.size == 0 ? TransportEvent::delivered : TransportEvent::arrive;
  queue.push(event_of(kind, kept, flow.version, at + flow.latency));
}

void FluidTransport::drop(std::uint32_t kept) {
  destroy(kept);
}

void FluidTransport::destroy(FlowId id) {
  if (ports_only_)
    for (const FlowHop& hop : flows_.hops(flows_.flow(id)))
      if (hop.link >= first_cap_link_) {
        leave_component(hop.link);
        cap_links_.push_back(hop.link);
      }
  flows_.destroy(id);
}

FlowId FluidTransport::create_flow(TransferId transfer, const Route& route) {
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
  return flows_.create(transfer, spoken_hops_);
}

/// A link that stood for itself and a twin now has the twin at its side, in the same state.
void FluidTransport::follow(const LinkTwins::Parting& parting) {
  const auto [known, added] = parting;
  if (flows_.users(known) == 0) return;
  use_[added] = use_[known];
  component_of_[added] = component_of_[known];
  if (const ComponentId owner = component_of_[added]; owner != kNone) {
    components_[owner].links.push_back(added);
    components_[owner].history.forget();
  }
  if (flows_.users(known) == flows_.on_link(known).size()) {
    for (const Crossing crossing : flows_.on_link(known))
      flows_.add_hop(crossing.flow, known, added);
    return;
  }
  for (FlowId id = 0; id < flows_.size(); ++id) {
    if (flows_.flow(id).state == Flow::State::gone) continue;
    const auto hops = flows_.hops(flows_.flow(id));
    if (std::any_of(hops.begin(), hops.end(),
                    [&](const FlowHop& hop) { return hop.link == known; }))
      flows_.add_hop(id, known, added);
  }
}

/// The route's smallest bandwidth in rate steps where no port on it is as small; else 0.
std::uint64_t FluidTransport::cap_beyond_ports(const Route& route) const {
  std::uint64_t cap = UINT64_MAX;
  std::uint64_t ports = UINT64_MAX;
  for (const Hop& hop : route.hops) {
    const auto alone = static_cast<std::uint64_t>(std::min<UInt128>(
        static_cast<UInt128>(sharing_.capacity(hop.link)) * kWeightUnit / hop.weight,
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
    sharing_.set_capacity(link, capacity);
    return link;
  }
  component_of_.push_back(kNone);
  use_.emplace_back();
  visited_.push_back(0);
  flows_.add_link();
  return sharing_.add_link(capacity);
}

void FluidTransport::handle(const Event& event, EventQueue& queue,
                            std::vector<TransferId>& arrived) {
  switch (static_cast<TransportEvent>(event.kind)) {
    case TransportEvent::delivered:
      deliver(event.id, arrived);
      return;
    case TransportEvent::arrive:
      arrive(event.id);
      return;
    case TransportEvent::flow_ends:
      if (flows_.flow(event.id).version == event.version) end_alone(event.id, arrived);
      return;
    case TransportEvent::group_ends:
      if ((components_[event.id].version & kVersionMask) == event.version)
        end_in_component(event.id, queue.now(), arrived);
      return;
  }
  LOCKSTEP_CHECK(false);
}

void FluidTransport::arrive(FlowId id) {
  Flow& flow = flows_.flow(id);
  flow.state = Flow::State::joining;
  for (const FlowHop& hop : flows_.hops(flow)) ++use_[hop.link].crossing;
  joining_.push_back(id);
}

void FluidTransport::end_alone(FlowId id, std::vector<TransferId>& arrived) {
  for (const FlowHop& hop : flows_.hops(flows_.flow(id))) use_[hop.link].alone = kNone;
  retire(id, arrived);
}

/// The flow's last byte has arrived: it leaves its links.
void FluidTransport::retire(FlowId id, std::vector<TransferId>& arrived) {
  const Flow& flow = flows_.flow(id);
  if (flow.state == Flow::State::sharing) flows_.detach(id);
  for (const FlowHop& hop : flows_.hops(flow)) --use_[hop.link].crossing;
  deliver(id, arrived);
}

void FluidTransport::deliver(FlowId id, std::vector<TransferId>& arrived) {
  const Flow& flow = flows_.flow(id);
  arrived.push_back(flow.transfer);
  if (!flow.keep) destroy(id);
}

void FluidTransport::end_in_component(ComponentId id, TimePoint now,
                                      std::vector<TransferId>& arrived) {
  Component& component = components_[id];
  ended_.clear();
  for (const LinkId link : component.due) {
    const std::size_t before = ended_.size();
    sharing_.take_ended(flows_, link, now.ps(), ended_);
    for (std::size_t i = before; i < ended_.size(); ++i)
      for (const FlowHop& hop : flows_.hops(flows_.flow(ended_[i])))
        component.history.change(hop.link, hop.weight, false, sharing_.level(link));
  }
  LOCKSTEP_CHECK(!ended_.empty());
  const auto count = static_cast<std::uint32_t>(ended_.size());
  component.flows -= count;
  component.left_since_built += count;
  for (const FlowId flow : ended_) retire(flow, arrived);
  touch(id);
}

void FluidTransport::touch(ComponentId id) {
  Component& component = components_[id];
  if (component.dirty) return;
  component.dirty = true;
  dirty_.push_back(id);
}

void FluidTransport::settle(EventQueue& queue) {
  for (const FlowId id : joining_) {
    if (crosses_nobody(id)) {
      begin_alone(id, queue);
    } else {
      join(id, queue.now());
    }
  }
  joining_.clear();
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const ComponentId id = dirty_[i];
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

bool FluidTransport::crosses_nobody(FlowId id) {
  for (const FlowHop& hop : flows_.hops(flows_.flow(id)))
    if (use_[hop.link].crossing != 1) return false;
  return true;
}

void FluidTransport::begin_alone(FlowId id, EventQueue& queue) {
  Flow& flow = flows_.flow(id);
  for (const FlowHop& hop : flows_.hops(flow)) {
    leave_component(hop.link);
    use_[hop.link].alone = id;
  }
  flow.state = Flow::State::alone;
  flow.since_ps = queue.now().ps();
  flow.rate = sharing_.rate_alone(flows_, flow);
  queue.push(event_of(TransportEvent::flow_ends, id, flow.version, queue.now() + time_alone(flow)));
}

Duration FluidTransport::time_alone(const Flow& flow) {
  if (flow.work != memo_work_ || flow.rate != memo_rate_) {
    memo_work_ = flow.work;
    memo_rate_ = flow.rate;
    memo_time_ = time_for(flow.work, flow.rate);
  }
  return memo_time_;
}

/// Takes a link that nobody in its component crosses any more out of it; the component's list is
/// tidied when it is next solved.
void FluidTransport::leave_component(LinkId link) {
  ComponentId& owner = component_of_[link];
  if (owner != kNone) components_[owner].untidy = true;
  owner = kNone;
}

/// Drops links that left, and entries of links that left and came back.
void FluidTransport::tidy(ComponentId id) {
  Component& component = components_[id];
  if (!component.untidy) return;
  component.untidy = false;
  ++visit_;
  std::erase_if(component.links, [&](LinkId link) {
    if (component_of_[link] != id || visited_[link] == visit_) return true;
    visited_[link] = visit_;
    return false;
  });
}

void FluidTransport::join(FlowId id, TimePoint now) {
  if (flows_.flow(id).state != Flow::State::joining) return;
  const ComponentId into = component_for(id);
  Component& component = components_[into];
  const std::size_t links = component.links.size();
  absorb(id, into, now);
  if (component.links.size() != links) {
    component.history.forget();
  } else {
    for (const FlowHop& hop : flows_.hops(flows_.flow(id)))
      component.history.change(hop.link, hop.weight, true, sharing_.least_level(flows_, hop.link));
  }
  touch(into);
}

/// The largest component that the flow's links belong to; a new one where there is none.
ComponentId FluidTransport::component_for(FlowId id) {
  ComponentId best = kNone;
  for (const FlowHop& hop : flows_.hops(flows_.flow(id))) {
    const ComponentId candidate = component_of_[hop.link];
    if (candidate == kNone) continue;
    if (best == kNone || components_[candidate].links.size() > components_[best].links.size())
      best = candidate;
  }
  return best != kNone ? best : take_component();
}

/// Makes the flow and all its links part of the component, and what they bring along.
void FluidTransport::absorb(FlowId id, ComponentId into, TimePoint now) {
  Flow& flow = flows_.flow(id);
  if (flow.state == Flow::State::alone) {
    flow.work -= static_cast<Int128>(flow.rate) * (now.ps() - flow.since_ps);
    flow.version = (flow.version + 1) & kVersionMask;
  }
  flow.state = Flow::State::sharing;
  flows_.attach(id);
  ++components_[into].flows;
  for (const FlowHop& hop : flows_.hops(flow)) {
    const ComponentId other = component_of_[hop.link];
    if (other == into) continue;
    if (other != kNone) {
      merge(other, into);
      continue;
    }
    component_of_[hop.link] = into;
    components_[into].links.push_back(hop.link);
    if (const FlowId lone = use_[hop.link].alone; lone != kNone && lone != id) {
      for (const FlowHop& freed : flows_.hops(flows_.flow(lone))) use_[freed.link].alone = kNone;
      absorb(lone, into, now);
    }
  }
}

void FluidTransport::merge(ComponentId from, ComponentId into) {
  Component& source = components_[from];
  Component& target = components_[into];
  for (const LinkId link : source.links) {
    if (component_of_[link] != from) continue;
    component_of_[link] = into;
    target.links.push_back(link);
  }
  target.flows += source.flows;
  target.left_since_built += source.left_since_built;
  source.links.clear();
  source.flows = 0;
  release(from);
}

ComponentId FluidTransport::take_component() {
  if (spare_components_.empty()) {
    components_.emplace_back();
    return static_cast<ComponentId>(components_.size() - 1);
  }
  const ComponentId id = spare_components_.back();
  spare_components_.pop_back();
  return id;
}

void FluidTransport::release(ComponentId id) {
  Component& component = components_[id];
  for (const LinkId link : component.links)
    if (component_of_[link] == id) component_of_[link] = kNone;
  component.links.clear();
  component.untidy = false;
  component.history.forget();
  component.flows = 0;
  component.left_since_built = 0;
  component.dirty = false;
  ++component.version;
  spare_components_.push_back(id);
}

void FluidTransport::solve(ComponentId id, EventQueue& queue) {
  ++solves_;
  tidy(id);
  Component& component = components_[id];
  sharing_.advance(component.links, queue.now().ps());
  sharing_.fill(flows_, component.links, component.history);
  const std::int64_t end = sharing_.next_end(flows_, component.links, component.due);
  ++component.version;
  queue.push(event_of(TransportEvent::group_ends, id, component.version,
                      TimePoint{Duration::picoseconds(end)}));
}

/// Splits a component that many flows have left into what is connected now.
void FluidTransport::rebuild(ComponentId id, EventQueue& queue) {
  tidy(id);
  const std::vector<LinkId> links = components_[id].links;
  sharing_.advance(links, queue.now().ps());
  release(id);
  ++visit_;
  for (const LinkId link : links) {
    if (visited_[link] == visit_ || flows_.on_link(link).empty()) continue;
    const ComponentId part = take_component();
    gather(link, components_[part]);
    if (components_[part].flows > 1) {
      for (const LinkId own : components_[part].links) component_of_[own] = part;
      solve(part, queue);
      continue;
    }
    const FlowId only = flows_.on_link(link).front().flow;
    sharing_.ungroup(flows_, only);
    flows_.detach(only);
    release(part);
    begin_alone(only, queue);
  }
}

void FluidTransport::gather(LinkId seed, Component& component) {
  visited_[seed] = visit_;
  component.links.push_back(seed);
  for (std::size_t i = 0; i < component.links.size(); ++i)
    for (const Crossing crossing : flows_.on_link(component.links[i]))
      spread(crossing.flow, component);
}

void FluidTransport::spread(FlowId id, Component& component) {
  Flow& flow = flows_.flow(id);
  if (flow.visit == visit_) return;
  flow.visit = visit_;
  ++component.flows;
  for (const FlowHop& hop : flows_.hops(flow)) {
    if (visited_[hop.link] == visit_) continue;
    visited_[hop.link] = visit_;
    component.links.push_back(hop.link);
  }
}

}  // namespace fluid

std::unique_ptr<Transport> make_fluid_transport(const Network& network) {
  return std::make_unique<fluid::FluidTransport>(network, false);
}

std::unique_ptr<Transport> make_alpha_beta_transport(const Network& network) {
  return std::make_unique<fluid::FluidTransport>(network, true);
}

}  // namespace lockstep
