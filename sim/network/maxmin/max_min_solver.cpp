#include "sim/network/maxmin/max_min_solver.hpp"

#include <algorithm>
#include <functional>

#include "sim/network/share_error.hpp"

namespace lockstep::maxmin {

MaxMinSolver::MaxMinSolver(std::span<const std::uint64_t> capacities)
    : capacity_(capacities.begin(), capacities.end()) {}

void MaxMinSolver::begin() {
  begun_ = true;
  groups_.resize(capacity_.size());
  fair_.resize(capacity_.size(), kUnlimited);
  residual_.resize(capacity_.size());
}

LinkId MaxMinSolver::add_link(std::uint64_t capacity) {
  capacity_.push_back(capacity);
  if (begun_) begin();
  return static_cast<LinkId>(capacity_.size() - 1);
}

std::uint64_t MaxMinSolver::rate_alone(FlowTable& flows, const Flow& flow) const {
  std::uint64_t rate = Rate::kMaxSteps;
  const Weight unit = flows.unit();
  for (const FlowHop& hop : flows.hops(flow)) {
    const std::uint64_t share =
        hop.weight == unit ? capacity_[hop.link]
                           : static_cast<std::uint64_t>(static_cast<UInt128>(capacity_[hop.link]) *
                                                        unit / hop.weight);
    rate = std::min(rate, share);
  }
  if (rate == 0) throw ShareError{};
  return rate;
}

void MaxMinSolver::advance(std::span<const LinkId> links, std::int64_t now_ps) {
  for (const LinkId link : links) {
    Group& group = groups_[link];
    group.service += static_cast<Int128>(group.level) * (now_ps - group.since_ps);
    group.since_ps = now_ps;
  }
}

std::uint64_t MaxMinSolver::least_level(const FlowTable& flows, LinkId link) const {
  const UInt128 capacity = static_cast<UInt128>(capacity_[link]) * flows.unit();
  return ResidualCapacity::of(capacity, flows.weight(link)).level();
}

namespace {

/// Small components are filled again faster than a checkpoint is written.
constexpr std::size_t kFewestLinksToRemember = 32;
constexpr std::size_t kCheckpoints = 12;

}  // namespace

// Levels only rise while the water does: when flows freeze at level x on a link whose own level
// is above x, what remains per flow cannot fall. So a level worked out earlier is a bound from
// below, and a link is worked out anew only when its bound is the least of all.
void MaxMinSolver::solve(FlowTable& flows, std::span<const LinkId> links,
                         SolveCheckpoints& checkpoints) {
  ++sweep_;
  bounds_.clear();
  if (const SolveCheckpoints::Checkpoint* from = checkpoints.resume()) {
    resume_solve(*from, checkpoints);
  } else {
    begin_solve(flows, links, checkpoints);
  }
  const std::size_t stride = links.size() / kCheckpoints + 1;
  std::size_t next_checkpoint = checkpoints.order.size() + stride;
  while (!bounds_.empty()) {
    if (!settle_top()) continue;
    // All links at the lowest level freeze together, so that their order does not matter.
    const std::uint64_t level = bounds_.front().level;
    if (checkpoints.order.size() >= next_checkpoint && links.size() >= kFewestLinksToRemember) {
      remember(links, checkpoints, level);
      next_checkpoint = checkpoints.order.size() + stride;
    }
    lowest_.clear();
    while (!bounds_.empty() && bounds_.front().level == level) {
      if (!settle_top()) continue;
      lowest_.push_back(bounds_.front().link);
      drop_top();
    }
    for (const LinkId link : lowest_) {
      freeze(flows, link, level);
      checkpoints.order.push_back(link);
    }
  }
}

void MaxMinSolver::begin_solve(const FlowTable& flows, std::span<const LinkId> links,
                               SolveCheckpoints& checkpoints) {
  checkpoints.order.clear();
  for (const LinkId link : links) {
    groups_[link].level = 0;
    groups_[link].next_ps = kUnknown;
    fair_[link] = kUnlimited;
    const UInt128 capacity = static_cast<UInt128>(capacity_[link]) * flows.unit();
    static_cast<ResidualCapacity&>(residual_[link]) =
        ResidualCapacity::of(capacity, flows.weight(link));
    if (residual_[link].open > 0) bounds_.push_back({residual_[link].level(), link});
  }
  std::make_heap(bounds_.begin(), bounds_.end(), sinks_below);
}

/// Takes up the filling at a checkpoint: what froze before it stays as it is.
void MaxMinSolver::resume_solve(const SolveCheckpoints::Checkpoint& from,
                                SolveCheckpoints& checkpoints) {
  checkpoints.order.resize(from.frozen);
  for (const LinkId link : checkpoints.order) residual_[link].frozen = sweep_;
  for (const SolveCheckpoints::Open& open : from.open) {
    static_cast<ResidualCapacity&>(residual_[open.link]) = open.rest;
    fair_[open.link] = kUnlimited;
    if (open.rest.open == 0) continue;  // it may even have left the component
    groups_[open.link].level = 0;
    groups_[open.link].next_ps = kUnknown;
    bounds_.push_back({open.rest.level(), open.link});
  }
  std::make_heap(bounds_.begin(), bounds_.end(), sinks_below);
}

void MaxMinSolver::remember(std::span<const LinkId> links, SolveCheckpoints& checkpoints,
                            std::uint64_t level) const {
  SolveCheckpoints::Checkpoint& checkpoint = checkpoints.add_checkpoint();
  checkpoint.frozen = checkpoints.order.size();
  checkpoint.level = level;
  checkpoint.open.clear();
  // Also links on which nothing is open: a flow that joins may open them again.
  for (const LinkId link : links)
    if (residual_[link].frozen != sweep_) checkpoint.open.push_back({link, residual_[link]});
}

void MaxMinSolver::drop_top() {
  bounds_.front() = bounds_.back();
  bounds_.pop_back();
  if (!bounds_.empty()) sift_down(0);
}

/// Makes the top bound exact. True if it then still is the top; otherwise it has sunk or gone.
bool MaxMinSolver::settle_top() {
  const ResidualCapacity& rest = residual_[bounds_.front().link];
  if (rest.open == 0) {
    drop_top();
    return false;
  }
  const std::uint64_t level = rest.level();
  if (level == bounds_.front().level) return true;
  bounds_.front().level = level;
  sift_down(0);
  return false;
}

void MaxMinSolver::sift_down(std::size_t at) {
  const Bound sinking = bounds_[at];
  const std::size_t size = bounds_.size();
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && sinks_below(bounds_[child], bounds_[child + 1])) ++child;
    if (!sinks_below(sinking, bounds_[child])) break;
    bounds_[at] = bounds_[child];
    at = child;
  }
  bounds_[at] = sinking;
}

/// The link is full: its flows that are still open get its level. Those of its own group are: if a
/// link had frozen one before, it would have taken it over. Of the others those are open whose own
/// link is: they join this group now.
void MaxMinSolver::freeze(FlowTable& flows, LinkId link, std::uint64_t level) {
  if (level == 0) throw ShareError{};
  residual_[link].frozen = sweep_;
  groups_[link].level = level;
  groups_[link].next_ps = kUnknown;
  fair_[link] = level;
  const Weight unit = flows.unit();
  std::span<const Crossing> crossings = flows.on_link(link);
  std::size_t grouped = flows.grouped(link);
  for (std::size_t i = 0; i < grouped; ++i) {
    const Crossing crossing = crossings[i];
    if (crossing.other != kNone) {
      freeze_pair(crossing.other, level, unit);
    } else {
      flows.fetch_ahead(crossings, i);
      freeze_far(flows, crossing.flow, level);
    }
  }
  for (std::size_t i = grouped; i < crossings.size(); ++i) {
    const Crossing crossing = crossings[i];
    if (crossing.other != kNone) {
      if (residual_[crossing.other].frozen == sweep_) [[likely]]
        continue;
      freeze_pair(crossing.other, level, unit);
    } else {
      flows.fetch_ahead(crossings, i);
      const LinkId owner = flows.group(crossing.flow);
      if (owner != kNone && residual_[owner].frozen == sweep_) continue;
      freeze_far(flows, crossing.flow, level);
    }
    move(flows, crossing.flow, link);  // swaps it to the front part, which is done with
  }
}

inline void MaxMinSolver::freeze_pair(LinkId other, std::uint64_t level, Weight unit) {
  LinkState& rest = residual_[other];
  if (unit == 1) {
    rest.low -= level;
    --rest.open;
  } else {
    rest.take(static_cast<UInt128>(level) * unit, unit);
  }
}

/// The same for a flow over any number of links with any weights.
void MaxMinSolver::freeze_far(FlowTable& flows, FlowId id, std::uint64_t level) {
  const auto hops = flows.hops(flows.flow(id));
  if (flows.unit() == 1) {
    for (const FlowHop& hop : hops) {
      residual_[hop.link].low -= level * hop.weight;
      residual_[hop.link].open -= hop.weight;
    }
    return;
  }
  for (const FlowHop& hop : hops)
    residual_[hop.link].take(static_cast<UInt128>(level) * hop.weight, hop.weight);
}

void MaxMinSolver::move(FlowTable& flows, FlowId id, LinkId to) {
  ungroup(flows, id);
  flows.set_group(id, to);
  Flow& flow = flows.flow(id);
  Group& group = groups_[to];
  flow.work += group.service;
  group.next_ps = kUnknown;
  ++group.live;
  group.finishing.push_back({flow.work, id, flow.version});
  std::push_heap(group.finishing.begin(), group.finishing.end(), std::greater<>{});
}

void MaxMinSolver::ungroup(FlowTable& flows, FlowId id) {
  const LinkId owner = flows.group(id);
  if (owner == kNone) return;
  Flow& flow = flows.flow(id);
  Group& group = groups_[owner];
  flow.work -= group.service;
  group.next_ps = kUnknown;
  if (group.finishing.front().flow == id) group.front_holds = false;
  flow.version = (flow.version + 1) & kVersionMask;
  flows.set_group(id, kNone);
  if (--group.live > 0) return;
  group.finishing.clear();
  group.front_holds = false;
}

void MaxMinSolver::drop_stale(const FlowTable& flows, Group& group) {
  if (group.front_holds) return;
  group.front_holds = true;
  auto& heap = group.finishing;
  while (flows.flow(heap.front().flow).version != heap.front().version) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    heap.pop_back();
  }
}

std::int64_t MaxMinSolver::next_end(const FlowTable& flows, LinkId link) {
  Group& group = groups_[link];
  if (group.live == 0) return kNever;
  if (group.next_ps == kUnknown) {
    drop_stale(flows, group);
    const Int128 left = group.finishing.front().service - group.service;
    group.next_ps = group.since_ps + time_for(left, group.level).ps();
  }
  return group.next_ps;
}

void MaxMinSolver::take_ended(FlowTable& flows, LinkId link, std::int64_t now_ps,
                              std::vector<FlowId>& ended) {
  Group& group = groups_[link];
  group.next_ps = kUnknown;
  while (group.live > 0) {
    drop_stale(flows, group);
    const Finish first = group.finishing.front();
    if (group.since_ps + time_for(first.service - group.service, group.level).ps() > now_ps) return;
    std::pop_heap(group.finishing.begin(), group.finishing.end(), std::greater<>{});
    group.finishing.pop_back();
    group.front_holds = false;
    flows.set_group(first.flow, kNone);
    --group.live;
    if (group.live == 0) group.finishing.clear();
    ended.push_back(first.flow);
  }
}

}  // namespace lockstep::maxmin
