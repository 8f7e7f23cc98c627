#include <algorithm>
#include <functional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/network/maxmin/fluid_transport.hpp"

namespace lockstep::maxmin {

// Who shares with whom: flows alone on their links, components of flows that share, how these
// grow together and fall apart.

namespace {

/// Ends of smaller components are looked through, not listed.
constexpr std::size_t kFewestLinksForEnds = 24;
/// Looking at so many flows, and at so large a part of a component's, is near.
constexpr std::size_t kAlwaysNear = 64;
constexpr std::size_t kNearPart = 4;
constexpr std::uint32_t kLongestPause = 64;
/// With more, those that hold are listed again.
constexpr std::size_t kMostEndsALink = 4;

template <typename Ends, typename End>
void push_end(Ends& ends, const End& end) {
  ends.push_back(end);
  std::push_heap(ends.begin(), ends.end(), std::greater<>{});
}

}  // namespace

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
  flow.rate = solver_.rate_alone(flows_, flow);
  queue.push(
      make_event(TransportEvent::flow_ends, id, queue.now() + time_alone(flow), flow.version));
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
    component.checkpoints.forget();
  } else {
    for (const FlowHop& hop : flows_.hops(flows_.flow(id)))
      component.checkpoints.change(hop.link, hop.weight, true,
                                   solver_.least_level(flows_, hop.link));
  }
  touch(into);
}

/// The largest component that the flow's links belong to; a new one if there is none.
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
    components_[into].changed.push_back(hop.link);
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
    if (!target.lists_ends) continue;
    if (const std::int64_t end = solver_.next_end(flows_, link); end != MaxMinSolver::kNever)
      push_end(target.ends, End{end, link});
  }
  target.flows += source.flows;
  target.left_since_built += source.left_since_built;
  target.whole = target.whole || source.whole;
  target.changed.insert(target.changed.end(), source.changed.begin(), source.changed.end());
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
  component.lists_ends = false;
  component.changed.clear();
  component.whole = false;
  component.pauses = 0;
  component.last_pause = 0;
  component.untidy = false;
  component.checkpoints.forget();
  component.flows = 0;
  component.left_since_built = 0;
  component.dirty = false;
  ++component.version;
  spare_components_.push_back(id);
}

void FluidTransport::solve(ComponentId id, EventQueue& queue) {
  ++solves_;
  const std::int64_t now_ps = queue.now().ps();
  const bool near = solve_near(id, now_ps);
  if (!near) solve_whole(id, now_ps);
  const std::int64_t end = near && components_[id].links.size() >= kFewestLinksForEnds
                               ? next_of_ends(id)
                               : next_of_all(id);
  Component& component = components_[id];
  component.changed.clear();
  component.whole = false;
  ++component.version;
  queue.push(make_event(TransportEvent::group_ends, id, TimePoint{Duration::picoseconds(end)},
                        component.version));
}

/// Where changes reach far, as among flows from everybody to everybody, it is tried ever more
/// rarely.
bool FluidTransport::solve_near(ComponentId id, std::int64_t now_ps) {
  Component& component = components_[id];
  if (component.whole) return false;
  if (component.pauses > 0) {
    --component.pauses;
    return false;
  }
  std::erase_if(component.changed, [&](LinkId link) { return component_of_[link] != id; });
  const std::size_t most = kAlwaysNear + component.flows / kNearPart;
  if (!solver_.solve_near(flows_, component.changed, most, now_ps)) {
    component.last_pause = std::clamp(2 * component.last_pause, 1U, kLongestPause);
    component.pauses = component.last_pause;
    return false;
  }
  component.last_pause = 0;
  component.checkpoints.forget();
  if (component.links.size() < kFewestLinksForEnds) return true;
  if (!component.lists_ends || component.ends.size() > kMostEndsALink * component.links.size()) {
    list_ends(component);
  } else {
    for (const LinkId link : solver_.near())
      if (solver_.has_new_end(link))
        push_end(component.ends, End{solver_.next_end(flows_, link), link});
  }
  return true;
}

void FluidTransport::solve_whole(ComponentId id, std::int64_t now_ps) {
  tidy(id);
  Component& component = components_[id];
  solver_.advance(component.links, now_ps);
  solver_.solve(flows_, component.links, component.checkpoints);
}

/// The links on which the next flows end, and when: looked for on all of them.
std::int64_t FluidTransport::next_of_all(ComponentId id) {
  tidy(id);
  Component& component = components_[id];
  component.lists_ends = false;
  std::int64_t earliest = MaxMinSolver::kNever;
  for (const LinkId link : component.links) {
    const std::int64_t end = solver_.next_end(flows_, link);
    if (end < earliest) {
      earliest = end;
      component.due.clear();
    }
    if (end == earliest && end != MaxMinSolver::kNever) component.due.push_back(link);
  }
  return earliest;
}

void FluidTransport::list_ends(Component& component) {
  component.lists_ends = true;
  component.ends.clear();
  for (const LinkId link : component.links)
    if (const std::int64_t end = solver_.next_end(flows_, link); end != MaxMinSolver::kNever)
      component.ends.push_back({end, link});
  std::make_heap(component.ends.begin(), component.ends.end(), std::greater<>{});
}

/// The same from the list of ends.
std::int64_t FluidTransport::next_of_ends(ComponentId id) {
  Component& component = components_[id];
  std::vector<End>& ends = component.ends;
  const auto holds = [&](const End& end) {
    return component_of_[end.link] == id && solver_.ends_at(end.link, end.at_ps);
  };
  while (!holds(ends.front())) {
    std::pop_heap(ends.begin(), ends.end(), std::greater<>{});
    ends.pop_back();
  }
  const std::int64_t earliest = ends.front().at_ps;
  std::vector<LinkId>& due = component.due;
  due.clear();
  equal_ends_.assign(1, 0);
  while (!equal_ends_.empty()) {  // the top of the heap, as far as it ends then
    const std::size_t at = equal_ends_.back();
    equal_ends_.pop_back();
    if (holds(ends[at])) due.push_back(ends[at].link);
    for (const std::size_t below : {2 * at + 1, 2 * at + 2})
      if (below < ends.size() && ends[below].at_ps == earliest) equal_ends_.push_back(below);
  }
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  return earliest;
}

/// Splits a component that many flows have left into what is connected now.
void FluidTransport::rebuild(ComponentId id, EventQueue& queue) {
  tidy(id);
  rebuilt_.swap(components_[id].links);
  const std::vector<LinkId>& links = rebuilt_;
  const bool whole = components_[id].whole;
  solver_.advance(links, queue.now().ps());
  changed_.swap(components_[id].changed);
  is_changed_.resize(use_.size(), false);
  for (const LinkId link : changed_) is_changed_[link] = true;
  for (const LinkId link : links) component_of_[link] = kNone;
  release(id);
  ++visit_;
  for (const LinkId link : links) {
    if (visited_[link] == visit_ || flows_.on_link(link).empty()) continue;
    const ComponentId part = take_component();
    gather(link, components_[part]);
    if (components_[part].flows > 1) {
      components_[part].whole = whole;
      for (const LinkId own : components_[part].links) {
        component_of_[own] = part;
        if (is_changed_[own]) components_[part].changed.push_back(own);
      }
      solve(part, queue);
      continue;
    }
    const FlowId only = flows_.on_link(link).front().flow;
    solver_.ungroup(flows_, only);
    flows_.detach(only);
    release(part);
    begin_alone(only, queue);
  }
  for (const LinkId link : changed_) is_changed_[link] = false;
  changed_.clear();
  rebuilt_.clear();
}

void FluidTransport::gather(LinkId seed, Component& component) {
  visited_[seed] = visit_;
  component.links.push_back(seed);
  for (std::size_t i = 0; i < component.links.size(); ++i)
    for (const Crossing crossing : flows_.on_link(component.links[i]))
      spread(crossing.flow, component);
}

void FluidTransport::spread(FlowId id, Component& component) {
  if (flow_visited_.size() <= id) flow_visited_.resize(flows_.size(), 0);
  if (flow_visited_[id] == visit_) return;
  flow_visited_[id] = visit_;
  ++component.flows;
  for (const FlowHop& hop : flows_.hops(flows_.flow(id))) {
    if (visited_[hop.link] == visit_) continue;
    visited_[hop.link] = visit_;
    component.links.push_back(hop.link);
  }
}

}  // namespace lockstep::maxmin
