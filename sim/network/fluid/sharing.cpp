#include "sim/network/fluid/sharing.hpp"

#include <algorithm>
#include <functional>

#include "sim/check.hpp"

namespace lockstep::fluid {

Sharing::Sharing(std::span<const std::uint64_t> capacities)
    : capacity_(capacities.begin(), capacities.end()),
      groups_(capacities.size()),
      rest_(capacities.size()) {}

LinkId Sharing::add_link(std::uint64_t capacity) {
  capacity_.push_back(capacity);
  groups_.emplace_back();
  rest_.emplace_back();
  return static_cast<LinkId>(capacity_.size() - 1);
}

std::uint64_t Sharing::rate_alone(FlowTable& flows, const Flow& flow) const {
  std::uint64_t rate = Rate::kMaxSteps;
  const Weight unit = flows.unit();
  for (const FlowHop& hop : flows.hops(flow)) {
    const std::uint64_t share =
        hop.weight == unit ? capacity_[hop.link]
                           : static_cast<std::uint64_t>(static_cast<UInt128>(capacity_[hop.link]) *
                                                        unit / hop.weight);
    rate = std::min(rate, share);
  }
  LOCKSTEP_CHECK(rate > 0);
  return rate;
}

void Sharing::advance(std::span<const LinkId> links, std::int64_t now_ps) {
  for (const LinkId link : links) {
    Group& group = groups_[link];
    group.service += static_cast<Int128>(group.level) * (now_ps - group.since_ps);
    group.since_ps = now_ps;
  }
}

std::uint64_t Sharing::level_of(const Rest& rest) {
  const auto high = static_cast<std::uint64_t>(rest.capacity >> 64U);
  if (high == 0) return static_cast<std::uint64_t>(rest.capacity) / rest.open;
  return static_cast<std::uint64_t>(rest.capacity / rest.open);
}

// Levels only rise while the water does: when flows freeze at level x on a link whose own level
// is above x, what remains per flow cannot fall. So a level worked out earlier is a bound from
// below, and a link is worked out anew only when its bound is the least of all.
void Sharing::fill(FlowTable& flows, std::span<const LinkId> links) {
  ++sweep_;
  bounds_.clear();
  for (const LinkId link : links) {
    groups_[link].level = 0;
    if (flows.weight(link) == 0) continue;
    Rest& rest = rest_[link];
    rest.capacity = static_cast<UInt128>(capacity_[link]) * flows.unit();
    rest.open = flows.weight(link);
    bounds_.push_back({level_of(rest), link});
  }
  std::make_heap(bounds_.begin(), bounds_.end(), [](const Bound& a, const Bound& b) {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  });
  while (!bounds_.empty()) {
    if (!settle_top()) continue;
    // All links at the lowest level freeze together, so that their order does not matter.
    const std::uint64_t level = bounds_.front().level;
    lowest_.clear();
    while (!bounds_.empty() && bounds_.front().level == level) {
      if (!settle_top()) continue;
      lowest_.push_back(bounds_.front().link);
      bounds_.front() = bounds_.back();
      bounds_.pop_back();
      if (!bounds_.empty()) sift_down(0);
    }
    for (const LinkId link : lowest_) freeze(flows, link, level);
  }
}

/// Makes the top bound exact. True if it then still is the top; otherwise it has sunk or gone.
bool Sharing::settle_top() {
  const Rest& rest = rest_[bounds_.front().link];
  if (rest.open == 0) {
    bounds_.front() = bounds_.back();
    bounds_.pop_back();
    if (!bounds_.empty()) sift_down(0);
    return false;
  }
  const std::uint64_t level = level_of(rest);
  if (level == bounds_.front().level) return true;
  bounds_.front().level = level;
  sift_down(0);
  return false;
}

void Sharing::sift_down(std::size_t at) {
  const auto before = [](const Bound& a, const Bound& b) {
    return a.level != b.level ? a.level < b.level : a.link < b.link;
  };
  const Bound sinking = bounds_[at];
  const std::size_t size = bounds_.size();
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && before(bounds_[child + 1], bounds_[child])) ++child;
    if (!before(bounds_[child], sinking)) break;
    bounds_[at] = bounds_[child];
    at = child;
  }
  bounds_[at] = sinking;
}

void Sharing::freeze(FlowTable& flows, LinkId link, std::uint64_t level) {
  LOCKSTEP_CHECK(level > 0);
  rest_[link].frozen = sweep_;
  groups_[link].level = level;
  const Weight unit = flows.unit();
  const UInt128 share = static_cast<UInt128>(level) * unit;
  auto& crossings = flows.on_link(link);
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing crossing = crossings[i];
    if (crossing.other == kNone) {
      freeze_far(flows, crossing.flow(), link, level);
      continue;
    }
    Rest& other = rest_[crossing.other];
    if (other.frozen == sweep_) continue;  // that link froze the flow
    other.capacity -= share;
    other.open -= unit;
    if (!crossing.grouped_here()) move(flows, crossing.flow(), link);
  }
}

/// The same for a flow over any number of links with any weights.
void Sharing::freeze_far(FlowTable& flows, FlowId id, LinkId link, std::uint64_t level) {
  Flow& flow = flows.flow(id);
  if (flow.mark == sweep_) return;
  flow.mark = sweep_;
  for (const FlowHop& hop : flows.hops(flow)) {
    Rest& rest = rest_[hop.link];
    rest.capacity -= static_cast<UInt128>(level) * hop.weight;
    rest.open -= hop.weight;
  }
  if (flow.group != link) move(flows, id, link);
}

void Sharing::move(FlowTable& flows, FlowId id, LinkId to) {
  ungroup(flows, id);
  flows.set_group(id, to);
  Flow& flow = flows.flow(id);
  Group& group = groups_[to];
  flow.work += group.service;
  ++group.live;
  group.finishing.push_back({flow.work, id, flow.version});
  std::push_heap(group.finishing.begin(), group.finishing.end(), std::greater<>{});
}

void Sharing::ungroup(FlowTable& flows, FlowId id) {
  Flow& flow = flows.flow(id);
  if (flow.group == kNone) return;
  Group& group = groups_[flow.group];
  flow.work -= group.service;
  flow.version = (flow.version + 1) & kVersionMask;
  flows.set_group(id, kNone);
  if (--group.live == 0) group.finishing.clear();
}

void Sharing::drop_stale(const FlowTable& flows, Group& group) {
  auto& heap = group.finishing;
  while (flows.flow(heap.front().flow).version != heap.front().version) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    heap.pop_back();
  }
}

std::int64_t Sharing::next_end(const FlowTable& flows, std::span<const LinkId> links,
                               std::vector<LinkId>& due) {
  std::int64_t earliest = INT64_MAX;
  for (const LinkId link : links) {
    Group& group = groups_[link];
    if (group.live == 0) continue;
    drop_stale(flows, group);
    const Int128 left = group.finishing.front().service - group.service;
    const std::int64_t end = group.since_ps + time_for(left, group.level).ps();
    if (end < earliest) {
      earliest = end;
      due.clear();
    }
    if (end == earliest) due.push_back(link);
  }
  return earliest;
}

void Sharing::take_ended(FlowTable& flows, LinkId link, std::int64_t now_ps,
                         std::vector<FlowId>& ended) {
  Group& group = groups_[link];
  while (group.live > 0) {
    drop_stale(flows, group);
    const Finish first = group.finishing.front();
    if (group.since_ps + time_for(first.service - group.service, group.level).ps() > now_ps) return;
    std::pop_heap(group.finishing.begin(), group.finishing.end(), std::greater<>{});
    group.finishing.pop_back();
    flows.set_group(first.flow, kNone);
    --group.live;
    if (group.live == 0) group.finishing.clear();
    ended.push_back(first.flow);
  }
}

}  // namespace lockstep::fluid
