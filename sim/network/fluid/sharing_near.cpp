#include <algorithm>

#include "sim/check.hpp"
#include "sim/network/fluid/sharing.hpp"
#include "sim/network/share_error.hpp"

namespace lockstep::fluid {

// Levels near a change. A set of links is filled on its own, while the flows on them that links
// outside limit keep to what these allow. Where a flow then has another rate than before, links
// outside on its way are held against it: one that it is limited by, one that limits others, and
// one that might come to limit belong to the set, too, and the set is filled again. Once nothing
// outside is concerned, all levels are those of a filling of everything: by induction over the
// levels from below, links inside meet what they met here, and links outside what they met before.

bool Sharing::fill_near(FlowTable& flows, std::span<const LinkId> changed, std::size_t most,
                        std::int64_t now_ps) {
  ++mark_;
  near_.clear();
  met_.clear();
  nearby_.resize(flows.size());
  for (const LinkId link : changed)
    if (!is_near(link)) add_near(link, now_ps);
  work_left_ = most;
  for (std::size_t worked_out = 0; worked_out < near_.size();) {
    worked_out = near_.size();
    if (!work_out_near(flows) || !widen(flows, now_ps)) return false;
  }
  settle_near(flows);
  return true;
}

void Sharing::add_near(LinkId link, std::int64_t now_ps) {
  rest_[link].near = mark_;
  near_.push_back(link);
  advance({&link, 1}, now_ps);
}

bool Sharing::work_out_near(FlowTable& flows) {
  std::size_t crossings = 0;
  for (const LinkId link : near_) crossings += flows.on_link(link).size();
  if (!spend(crossings)) return false;
  ++sweep_;
  bounds_.clear();
  met_.clear();
  held_.clear();
  for (const LinkId link : near_) {
    Filling& filling = rest_[link];
    filling.near_level = 0;
    const UInt128 capacity = static_cast<UInt128>(capacity_[link]) * flows.unit();
    static_cast<Rest&>(filling) = Rest::of(capacity, flows.weight(link));
    if (filling.open > 0) bounds_.push_back({filling.level(), link});
    for (const Crossing crossing : flows.on_link(link)) meet(flows, crossing.flow);
  }
  std::sort(held_.begin(), held_.end());
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (i == 0 || held_[i].owner != held_[i - 1].owner)
      bounds_.push_back({groups_[held_[i].owner].level, held_[i].owner});
  std::make_heap(bounds_.begin(), bounds_.end(), sinks_below);
  const auto settle = [&] { return !is_near(bounds_.front().link) || settle_top(); };
  while (!bounds_.empty()) {
    if (!settle()) continue;
    const std::uint64_t level = bounds_.front().level;
    if (level == 0) throw ShareError{};
    lowest_.clear();
    while (!bounds_.empty() && bounds_.front().level == level) {
      if (!settle()) continue;
      lowest_.push_back(bounds_.front().link);
      drop_top();
    }
    for (const LinkId link : lowest_) {
      if (is_near(link)) {
        rest_[link].near_level = level;
        for (const Crossing crossing : flows.on_link(link))
          freeze_near(flows, crossing.flow, link, level);
      } else {
        const auto [first, last] = std::equal_range(held_.begin(), held_.end(), Held{link, 0});
        for (auto held = first; held != last; ++held) freeze_near(flows, held->flow, link, level);
      }
    }
  }
  return true;
}

void Sharing::meet(const FlowTable& flows, FlowId id) {
  Nearby& nearby = nearby_[id];
  if (nearby.met == sweep_) return;
  nearby.met = sweep_;
  met_.push_back(id);
  const LinkId owner = flows.flow(id).group;
  if (owner != kNone && !is_near(owner)) held_.push_back({owner, id});
}

void Sharing::freeze_near(FlowTable& flows, FlowId id, LinkId owner, std::uint64_t level) {
  Nearby& nearby = nearby_[id];
  if (nearby.frozen == sweep_) return;
  nearby.frozen = sweep_;
  nearby.rate = level;
  nearby.owner = owner;
  for (const FlowHop& hop : flows.hops(flows.flow(id)))
    if (is_near(hop.link))
      rest_[hop.link].take(static_cast<UInt128>(level) * hop.weight, hop.weight);
}

/// Adds links outside that the new rates concern.
bool Sharing::widen(FlowTable& flows, std::int64_t now_ps) {
  for (const FlowId id : met_) {
    LOCKSTEP_CHECK(nearby_[id].frozen == sweep_);
    const Flow& flow = flows.flow(id);
    const bool had_one = flow.group != kNone;
    if (had_one && nearby_[id].rate == rate_of(flow)) {
      if (!is_near(flow.group)) nearby_[id].owner = flow.group;
      continue;
    }
    if (!look_beyond(flows, id, now_ps)) return false;
  }
  return true;
}

bool Sharing::look_beyond(FlowTable& flows, FlowId id, std::int64_t now_ps) {
  const Flow& flow = flows.flow(id);
  const bool faster = nearby_[id].rate > rate_of(flow);
  for (const FlowHop& hop : flows.hops(flow)) {
    if (is_near(hop.link)) continue;
    if (groups_[hop.link].live == 0) {
      if (!faster) continue;
      if (!spend(flows.on_link(hop.link).size())) return false;
      if (has_room(flows, hop.link)) continue;
    }
    add_near(hop.link, now_ps);
  }
  return true;
}

/// Whether the link could carry a step more of every flow than it now has to, so that it comes to
/// its level after all of them, rounded down or not.
bool Sharing::has_room(FlowTable& flows, LinkId link) const {
  UInt128 load = 0;
  for (const Crossing crossing : flows.on_link(link)) {
    const Flow& flow = flows.flow(crossing.flow);
    const Nearby& nearby = nearby_[crossing.flow];
    const std::uint64_t rate = nearby.met == sweep_ ? nearby.rate : rate_of(flow);
    for (const FlowHop& hop : flows.hops(flow))
      if (hop.link == link) load += static_cast<UInt128>(rate + 1) * hop.weight;
  }
  return load <= static_cast<UInt128>(capacity_[link]) * flows.unit();
}

void Sharing::settle_near(FlowTable& flows) {
  for (const FlowId id : met_)
    if (nearby_[id].owner != flows.flow(id).group) move(flows, id, nearby_[id].owner);
  for (const LinkId link : near_) {
    Group& group = groups_[link];
    const std::uint64_t level = group.live > 0 ? rest_[link].near_level : 0;
    if (group.level == level) continue;
    group.level = level;
    group.next_ps = kUnknown;
  }
}

}  // namespace lockstep::fluid
