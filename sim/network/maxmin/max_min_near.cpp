#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/network/maxmin/max_min_solver.hpp"
#include "sim/network/share_error.hpp"

namespace lockstep::maxmin {

// Levels near a change. In a filling, a link L freezes at
//   level(L) = floor((capacity - sum of w_f r_f) / sum of the other flows' w),
// where the sum goes over the flows f that others of their links froze at a rate r_f below it; none
// where that is all of them. These equations, one for every link, have one solution only: where two
// differ, take the link with the lowest level in either that the other does not share, say x; what
// is below x is the same in both, so that in both the quotient comes to x while all flows left have
// links of x and more, and that is where either stops. So it does not matter how the solution is
// come by: links at which something changed are worked out anew, and after them those that a new
// level concerns, which are the ones above the lower of the old and the new level, until nothing
// changes. Each does come to rest, from the lowest level up.

bool MaxMinSolver::solve_near(FlowTable& flows, std::span<const LinkId> changed, std::size_t most,
                              std::int64_t now_ps) {
  ++mark_;
  near_.clear();
  queue_.clear();
  replaced_.clear();
  work_left_ = most;
  for (const LinkId link : changed) enqueue(link);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const LinkId link = queue_[i];
    if (!spend(flows.on_link(link).size())) {
      give_up(i);
      return false;
    }
    residual_[link].queued = false;
    work_out(flows, link);
  }
  settle_near(flows, changed, now_ps);
  return true;
}

void MaxMinSolver::give_up(std::size_t from) {
  for (std::size_t i = from; i < queue_.size(); ++i) residual_[queue_[i]].queued = false;
  for (std::size_t i = replaced_.size(); i-- > 0;) fair_[replaced_[i].link] = replaced_[i].level;
}

void MaxMinSolver::work_out(const FlowTable& flows, LinkId link) {
  const std::uint64_t before = fair_[link];
  const std::uint64_t level = fair_level(flows, link);
  if (level == before) return;
  if (level == 0) throw ShareError{};
  replaced_.push_back({before, link});
  fair_[link] = level;
  const std::uint64_t lower = std::min(before, level);
  for (const Crossing crossing : flows.on_link(link)) {
    if (crossing.other != kNone) {
      if (fair_[crossing.other] > lower) enqueue(crossing.other);
      continue;
    }
    for (const FlowHop& hop : flows.hops(flows.flow(crossing.flow)))
      if (hop.link != link && fair_[hop.link] > lower) enqueue(hop.link);
  }
}

/// The lowest level of the flow's links, but for `except`.
std::uint64_t MaxMinSolver::lowest_on(const FlowTable& flows, FlowId id, LinkId except) const {
  std::uint64_t lowest = kUnlimited;
  for (const FlowHop& hop : flows.hops(flows.flow(id)))
    if (hop.link != except) lowest = std::min(lowest, fair_[hop.link]);
  return lowest;
}

namespace {

/// The level of a link that only a few flows cross, each once, given what they can have elsewhere;
/// `none` where that is less for all.
std::uint64_t level_of_few(std::uint64_t capacity, std::span<std::uint64_t> allowed,
                           std::uint64_t none) {
  while (!allowed.empty()) {
    const std::uint64_t level = capacity / allowed.size();
    std::size_t open = 0;
    for (const std::uint64_t each : allowed) {
      if (each < level) {
        capacity -= each;
      } else {
        allowed[open++] = each;
      }
    }
    if (open == allowed.size()) return level;
    allowed = allowed.first(open);
  }
  return none;
}

}  // namespace

/// The link's level, given those of the others.
std::uint64_t MaxMinSolver::fair_level(const FlowTable& flows, LinkId link) {
  const std::vector<Crossing>& crossings = flows.on_link(link);
  if (flows.unit() == 1 && crossings.size() <= kFew) {
    std::array<std::uint64_t, kFew> allowed;
    std::size_t known = 0;
    while (known < crossings.size() && crossings[known].other != kNone) {
      allowed[known] = fair_[crossings[known].other];
      ++known;
    }
    if (known == crossings.size())
      return level_of_few(capacity_[link], {allowed.data(), known}, kUnlimited);
  }
  allowed_.clear();
  for (const Crossing crossing : crossings) {
    if (crossing.other != kNone) {
      allowed_.push_back({fair_[crossing.other], flows.unit()});
      continue;
    }
    const auto hops = flows.hops(flows.flow(crossing.flow));
    const auto own = std::find_if(hops.begin(), hops.end(),
                                  [link](const FlowHop& hop) { return hop.link == link; });
    allowed_.push_back({lowest_on(flows, crossing.flow, link), own->weight});
  }
  ResidualCapacity rest = ResidualCapacity::of(static_cast<UInt128>(capacity_[link]) * flows.unit(),
                                               flows.weight(link));
  while (rest.open > 0) {
    const std::uint64_t level = rest.level();
    const std::size_t open = allowed_.size();
    for (std::size_t i = 0; i < allowed_.size();) {
      const Allowed each = allowed_[i];
      if (each.level >= level) {
        ++i;
        continue;
      }
      rest.take(static_cast<UInt128>(each.level) * each.weight, each.weight);
      allowed_[i] = allowed_.back();
      allowed_.pop_back();
    }
    if (allowed_.size() == open) return level;
  }
  return kUnlimited;
}

void MaxMinSolver::add_near(LinkId link, std::int64_t now_ps) {
  if (residual_[link].near == mark_) return;
  residual_[link].near = mark_;
  near_.push_back(link);
  advance({&link, 1}, now_ps);
}

/// Flows on links whose level is a new one, and those that have come, join the groups that they are
/// now limited by.
void MaxMinSolver::settle_near(FlowTable& flows, std::span<const LinkId> changed,
                               std::int64_t now_ps) {
  for (const LinkId link : changed) add_near(link, now_ps);
  for (const Replaced& each : replaced_) add_near(each.link, now_ps);
  const std::size_t concerned = near_.size();
  for (std::size_t i = 0; i < concerned; ++i) {
    const LinkId link = near_[i];
    // A flow that moves may swap places with one that comes later in the list: to the front of the
    // link that it joins, to the back of the one that it leaves.
    joining_.clear();
    for (const Crossing crossing : flows.on_link(link)) {
      const LinkId owner = flows.group(crossing.flow);
      const std::uint64_t other =
          crossing.other != kNone ? fair_[crossing.other] : lowest_on(flows, crossing.flow, link);
      const std::uint64_t rate = std::min(fair_[link], other);
      if (owner == kNone || fair_[owner] != rate) joining_.push_back({crossing.flow, rate});
    }
    for (const auto& [id, rate] : joining_) {
      const auto hops = flows.hops(flows.flow(id));
      const auto to = std::find_if(
          hops.begin(), hops.end(),
          [this, level = rate](const FlowHop& hop) { return fair_[hop.link] == level; });
      const LinkId owner = flows.group(id);
      if (owner != kNone) add_near(owner, now_ps);
      add_near(to->link, now_ps);
      move(flows, id, to->link);
    }
  }
  for (const LinkId link : near_) {
    Group& group = groups_[link];
    const std::uint64_t level = group.live > 0 ? fair_[link] : 0;
    if (group.level == level) continue;
    group.level = level;
    group.next_ps = kUnknown;
  }
}

}  // namespace lockstep::maxmin
