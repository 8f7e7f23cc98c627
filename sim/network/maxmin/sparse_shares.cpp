#include "sim/network/maxmin/sparse_shares.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/network/share_error.hpp"

namespace lockstep::maxmin {

namespace {

/// A solve may look at so many links, and at so many more for each that changed.
constexpr std::size_t kReach = 256;
constexpr std::size_t kReachEach = 16;
/// No link, as the other one of a flow that crosses one link only.
constexpr LinkId kNoOther = kNone - 1;

}  // namespace

SparseShares::SparseShares(std::span<const std::uint64_t> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void SparseShares::add_link(std::uint64_t capacity) {
  links_.emplace_back().capacity = capacity;
}

bool SparseShares::attach(const FlowTable& flows, FlowId id) {
  const auto hops = flows.hops(flows.flow(id));
  const Weight unit = flows.unit();
  if (hops.size() == 2 && hops[0].weight == unit && hops[1].weight == unit) {
    Line& first = links_[hops[0].link];
    Line& second = links_[hops[1].link];
    if (first.count == kMost || second.count == kMost) return false;
    first.crossings[first.count++] = {id, hops[1].link};
    second.crossings[second.count++] = {id, hops[0].link};
    return true;
  }
  for (const FlowHop& hop : hops)
    if (links_[hop.link].count == kMost) return false;
  const LinkId other = hops.size() == 1 && hops[0].weight == unit ? kNoOther : kNone;
  for (const FlowHop& hop : hops) {
    Line& link = links_[hop.link];
    link.crossings[link.count++] = {id, other};
  }
  return true;
}

void SparseShares::detach(const FlowTable& flows, FlowId id) {
  for (const FlowHop& hop : flows.hops(flows.flow(id))) {
    Line& link = links_[hop.link];
    std::size_t at = 0;
    while (link.crossings[at].flow != id) ++at;
    link.crossings[at] = link.crossings[--link.count];
    if (link.count == 0) {
      link.level = kUnlimited;
    } else {
      enqueue(hop.link);
    }
  }
}

void SparseShares::add_hop(const FlowTable& flows, FlowId id, LinkId known, LinkId added) {
  Line& link = links_[added];
  LOCKSTEP_CHECK(link.count < kMost);
  link.crossings[link.count++] = {id, kNone};
  link.level = links_[known].level;
  enqueue(added);  // `known` may be in the queue: what this instant took off it, it took off both
  for (const FlowHop& hop : flows.hops(flows.flow(id)))
    for (Crossing& crossing : links_[hop.link].all())
      if (crossing.flow == id) crossing.other = kNone;
}

std::uint64_t SparseShares::rate_alone(const FlowTable& flows, FlowId id) {
  const auto hops = flows.hops(flows.flow(id));
  const Weight unit = flows.unit();
  const auto share = [&](const FlowHop& hop) {
    const std::uint64_t capacity = links_[hop.link].capacity;
    return hop.weight == unit
               ? capacity
               : static_cast<std::uint64_t>(static_cast<UInt128>(capacity) * unit / hop.weight);
  };
  if (!std::all_of(hops.begin(), hops.end(),
                   [this](const FlowHop& hop) { return links_[hop.link].count == 1; })) {
    for (const FlowHop& hop : hops) enqueue(hop.link);
    return 0;
  }
  std::uint64_t rate = kUnlimited;
  for (const FlowHop& hop : hops) rate = std::min(rate, share(hop));
  if (rate == 0) throw ShareError{};
  for (const FlowHop& hop : hops) links_[hop.link].level = share(hop) == rate ? rate : kUnlimited;
  return rate;
}

// As MaxMinSolver::solve_near, which says why it comes to the one solution.
bool SparseShares::solve(const FlowTable& flows, std::vector<Share>& shares) {
  ++solve_;
  replaced_.clear();
  const std::size_t most = kReach + kReachEach * queue_.size();
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (i == most) return false;
    const LinkId link = queue_[i];
    links_[link].queued = false;
    work_out(flows, link);
  }
  queue_.clear();
  for (const LinkId id : replaced_) {
    const Line& link = links_[id];
    for (const Crossing crossing : link.all()) {
      const std::uint64_t others = crossing.other < kNoOther ? links_[crossing.other].level
                                   : crossing.other == kNoOther
                                       ? kUnlimited
                                       : lowest_on(flows, crossing.flow, id);
      const std::uint64_t rate = std::min(link.level, others);
      if (flows.flow(crossing.flow).rate != rate) shares.push_back({crossing.flow, rate});
    }
  }
  return true;
}

void SparseShares::work_out(const FlowTable& flows, LinkId id) {
  Line& link = links_[id];
  const std::uint64_t before = link.level;
  const std::uint64_t level = level_of(flows, id);
  if (level == before) return;
  if (level == 0) throw ShareError{};
  if (link.replaced != solve_) {
    link.replaced = solve_;
    replaced_.push_back(id);
  }
  link.level = level;
  const std::uint64_t lower = std::min(before, level);
  for (const Crossing crossing : link.all()) {
    if (crossing.other < kNoOther) {
      if (links_[crossing.other].level > lower) enqueue(crossing.other);
    } else if (crossing.other == kNone) {
      for (const FlowHop& hop : flows.hops(flows.flow(crossing.flow)))
        if (hop.link != id && links_[hop.link].level > lower) enqueue(hop.link);
    }
  }
}

/// The link's level, given those of the others.
std::uint64_t SparseShares::level_of(const FlowTable& flows, LinkId id) {
  const Line& link = links_[id];
  std::array<std::uint64_t, kMost> allowed;
  std::size_t open = 0;
  for (const Crossing crossing : link.all()) {
    if (crossing.other == kNone) return level_of_any(flows, id);
    allowed[open++] = crossing.other == kNoOther ? kUnlimited : links_[crossing.other].level;
  }
  std::uint64_t capacity = link.capacity;
  while (open > 0) {
    const std::uint64_t level = capacity / open;
    std::size_t left = 0;
    for (std::size_t i = 0; i < open; ++i) {
      if (allowed[i] < level) {
        capacity -= allowed[i];
      } else {
        allowed[left++] = allowed[i];
      }
    }
    if (left == open) return level;
    open = left;
  }
  return kUnlimited;
}

/// The same where flows cross any number of links with any weights.
std::uint64_t SparseShares::level_of_any(const FlowTable& flows, LinkId id) const {
  const Line& link = links_[id];
  std::array<Allowed, kMost> allowed;
  std::size_t open = 0;
  Weight weight = 0;
  for (const Crossing crossing : link.all()) {
    Allowed& of = allowed[open++] = {kUnlimited, 0};
    for (const FlowHop& hop : flows.hops(flows.flow(crossing.flow))) {
      if (hop.link == id) {
        of.weight = hop.weight;
      } else {
        of.level = std::min(of.level, links_[hop.link].level);
      }
    }
    weight += of.weight;
  }
  ResidualCapacity rest =
      ResidualCapacity::of(static_cast<UInt128>(link.capacity) * flows.unit(), weight);
  while (rest.open > 0) {
    const std::uint64_t level = rest.level();
    std::size_t left = 0;
    for (std::size_t i = 0; i < open; ++i) {
      if (allowed[i].level < level) {
        rest.take(static_cast<UInt128>(allowed[i].level) * allowed[i].weight, allowed[i].weight);
      } else {
        allowed[left++] = allowed[i];
      }
    }
    if (left == open) return level;
    open = left;
  }
  return kUnlimited;
}

/// The lowest level of the flow's links, but for `except`.
std::uint64_t SparseShares::lowest_on(const FlowTable& flows, FlowId id, LinkId except) const {
  std::uint64_t lowest = kUnlimited;
  for (const FlowHop& hop : flows.hops(flows.flow(id)))
    if (hop.link != except) lowest = std::min(lowest, links_[hop.link].level);
  return lowest;
}

std::uint64_t SparseShares::rate(const FlowTable& flows, FlowId id) const {
  return lowest_on(flows, id, kNone);
}

}  // namespace lockstep::maxmin
