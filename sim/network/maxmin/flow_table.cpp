#include "sim/network/maxmin/flow_table.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep::maxmin {

namespace {

constexpr std::uint32_t kMostHops = (1U << 25U) - 1;  // as many as Flow has bits for

}  // namespace

FlowTable::FlowTable(std::size_t links) : users_(links, 0) {}

void FlowTable::begin_lists() {
  listed_ = true;
  on_link_.resize(users_.size());
  grouped_.resize(users_.size(), 0);
  weight_.resize(users_.size(), 0);
}

void FlowTable::add_link() {
  users_.push_back(0);
  if (listed_) begin_lists();
}

FlowId FlowTable::create(TransferId transfer, std::span<const Hop> hops) {
  if (unit_ == 1) {
    for (const Hop& hop : hops)
      if (hop.weight % kWeightUnit != 0) {
        rescale();
        break;
      }
  }
  FlowId id = 0;
  if (free_flows_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
    latency_.emplace_back();
    traffic_weight_.push_back(1);
    group_.push_back(kNone);
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  const auto count = static_cast<std::uint32_t>(hops.size());
  Flow& flow = flows_[id];
  flow.transfer = transfer;
  LOCKSTEP_CHECK(count <= kMostHops);
  flow.hop_count = count & kMostHops;
  flow.first_hop = take_hops(count);
  group_[id] = kNone;
  flow.rate = 0;
  flow.state = Flow::State::travelling;
  const Weight divisor = unit_ == 1 ? kWeightUnit : 1;
  FlowHop* to = hops_.data() + flow.first_hop;
  for (const Hop& hop : hops) {
    *to++ = {hop.link, 0, hop.weight == kWeightUnit ? unit_ : hop.weight / divisor};
    ++users_[hop.link];
  }
  return id;
}

void FlowTable::destroy(FlowId id) {
  Flow& flow = flows_[id];
  flow.version = (flow.version + 1) & kVersionMask;
  flow.state = Flow::State::gone;
  for (const FlowHop& hop : hops(flow)) --users_[hop.link];
  if (flow.hop_count > 0) free_hops_[flow.hop_count].push_back(flow.first_hop);
  free_flows_.push_back(id);
}

std::uint32_t FlowTable::take_hops(std::uint32_t count) {
  if (count == 0) return 0;
  if (free_hops_.size() <= count) free_hops_.resize(count + 1);
  auto& free = free_hops_[count];
  if (free.empty()) {
    const auto first = static_cast<std::uint32_t>(hops_.size());
    hops_.resize(hops_.size() + count);
    return first;
  }
  const std::uint32_t first = free.back();
  free.pop_back();
  return first;
}

void FlowTable::add_hop(FlowId id, LinkId known, LinkId added) {
  Flow& flow = flows_[id];
  const std::uint32_t first = take_hops(flow.hop_count + 1);
  Weight weight = 0;
  for (std::uint32_t i = 0; i < flow.hop_count; ++i) {
    const FlowHop& hop = hops_[flow.first_hop + i];
    hops_[first + i] = hop;
    if (hop.link == known) weight = hop.weight;
    // It is no plain pair any more.
    if (listed_ && flow.state == Flow::State::sharing)
      on_link_[hop.link][hop.position].other = kNone;
  }
  FlowHop& last = hops_[first + flow.hop_count];
  last = {added, 0, weight};
  ++users_[added];
  if (listed_ && flow.state == Flow::State::sharing) {
    last.position = static_cast<std::uint32_t>(on_link_[added].size());
    on_link_[added].push_back({id, kNone});
    weight_[added] += weight;
  }
  free_hops_[flow.hop_count].push_back(flow.first_hop);
  flow.first_hop = first;
  LOCKSTEP_CHECK(flow.hop_count < kMostHops);
  flow.hop_count = (flow.hop_count + 1U) & kMostHops;
}

bool FlowTable::crosses(FlowId id, LinkId link) const {
  const Flow& flow = flows_[id];
  const auto own = hops(flow);
  return flow.state != Flow::State::gone &&
         std::any_of(own.begin(), own.end(),
                     [link](const FlowHop& hop) { return hop.link == link; });
}

void FlowTable::attach(FlowId id) {
  const auto own = hops(flows_[id]);
  const bool plain_pair = own.size() == 2 && own[0].weight == unit_ && own[1].weight == unit_;
  for (FlowHop& hop : own) {
    auto& list = on_link_[hop.link];
    hop.position = static_cast<std::uint32_t>(list.size());
    list.push_back({id, plain_pair ? own[&hop == &own[0] ? 1 : 0].link : kNone});
    weight_[hop.link] += hop.weight;
  }
}

void FlowTable::detach(FlowId id) {
  set_group(id, kNone);
  for (const FlowHop& hop : hops(flows_[id])) {
    auto& list = on_link_[hop.link];
    weight_[hop.link] -= hop.weight;
    const Crossing last = list.back();
    list.pop_back();
    if (last.flow != id) put(hop.link, hop.position, last);
  }
}

void FlowTable::set_group(FlowId id, LinkId group) {
  const LinkId before = std::exchange(group_[id], group);
  if (before == group) return;
  for (const FlowHop& hop : hops(flows_[id])) {
    if (hop.link == group) {
      swap(hop.link, hop.position, grouped_[hop.link]++);
    } else if (hop.link == before) {
      swap(hop.link, hop.position, --grouped_[hop.link]);
    }
  }
}

void FlowTable::swap(LinkId link, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  const Crossing first = on_link_[link][a];
  put(link, a, on_link_[link][b]);
  put(link, b, first);
}

void FlowTable::put(LinkId link, std::uint32_t position, const Crossing& crossing) {
  on_link_[link][position] = crossing;
  for (FlowHop& hop : hops(flows_[crossing.flow]))
    if (hop.link == link) {
      hop.position = position;
      return;
    }
}

void FlowTable::rescale() {
  unit_ = kWeightUnit;
  for (FlowHop& hop : hops_) hop.weight *= kWeightUnit;
  for (Weight& weight : weight_) weight *= kWeightUnit;
}

}  // namespace lockstep::maxmin
