#include "sim/symmetry/plain/plain_shares.hpp"

#include <algorithm>

#include "sim/network/share_error.hpp"

namespace lockstep::fold {
namespace {

/// A solve may look at so many links, and at so many more for each that changed.
constexpr std::size_t kReach = 256;
constexpr std::size_t kReachEach = 16;

}  // namespace

PlainShares::PlainShares(const PlainPlan& plan) {
  for (const PlainPlan::Connection& each : plan.connections)
    ways_.push_back({each.hops, each.over});
  for (std::uint32_t id = 0; id < plan.links.size(); ++id) {
    Line& link = links_.emplace_back();
    link.capacity = plan.links[id].capacity;
    link.first_user = static_cast<std::uint32_t>(users_.size());
    for (const std::uint32_t connection : plan.links[id].users) {
      const auto way = hops(connection);
      std::uint32_t other = way.size() == 1 ? kNoOther : kSeveral;
      if (way.size() == 2) other = way[0].link == id ? way[1].link : way[0].link;
      users_.push_back({connection, other});
    }
  }
}

std::uint64_t PlainShares::rate_alone(std::uint32_t connection) {
  const auto way = hops(connection);
  if (!std::all_of(way.begin(), way.end(), [this](const PlainPlan::Hop& hop) {
        const std::uint64_t active = links_[hop.link].active;
        return (active & (active - 1)) == 0;
      })) {
    for (const PlainPlan::Hop& hop : way) enqueue(hop.link);
    return 0;
  }
  std::uint64_t rate = kUnlimited;
  for (const PlainPlan::Hop& hop : way) rate = std::min(rate, links_[hop.link].capacity);
  if (rate == 0) throw ShareError{};
  for (const PlainPlan::Hop& hop : way)
    links_[hop.link].level = links_[hop.link].capacity == rate ? rate : kUnlimited;
  return rate;
}

// As maxmin::MaxMinSolver::solve_near, which says why it comes to the one solution.
bool PlainShares::solve() {
  replaced_.clear();
  touched_.clear();
  const std::size_t most = kReach + kReachEach * queue_.size();
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (i == most) return false;
    const std::uint32_t link = queue_[i];
    links_[link].queued = false;
    work_out(link);
  }
  queue_.clear();
  for (const std::uint32_t id : replaced_) {
    links_[id].replaced = false;
    each_on(links_[id], [this](const User& user) { touched_.push_back(user.connection); });
  }
  return true;
}

void PlainShares::work_out(std::uint32_t id) {
  Line& link = links_[id];
  const std::uint64_t before = link.level;
  const std::uint64_t level = level_of(id);
  if (level == before) return;
  if (level == 0) throw ShareError{};
  if (!link.replaced) {
    link.replaced = true;
    replaced_.push_back(id);
  }
  link.level = level;
  const std::uint64_t lower = std::min(before, level);
  each_on(link, [this, id, lower](const User& user) {
    if (user.other < kSeveral) {
      if (links_[user.other].level > lower) enqueue(user.other);
    } else if (user.other == kSeveral) {
      for (const PlainPlan::Hop& hop : hops(user.connection))
        if (hop.link != id && links_[hop.link].level > lower) enqueue(hop.link);
    }
  });
}

/// What a connection's other links let through.
std::uint64_t PlainShares::allowed(const User& user, std::uint32_t link) const {
  if (user.other < kSeveral) return links_[user.other].level;
  std::uint64_t lowest = kUnlimited;
  if (user.other == kNoOther) return lowest;
  for (const PlainPlan::Hop& hop : hops(user.connection))
    if (hop.link != link) lowest = std::min(lowest, links_[hop.link].level);
  return lowest;
}

/// The link's level, given those of the others.
std::uint64_t PlainShares::level_of(std::uint32_t id) const {
  const Line& link = links_[id];
  std::array<std::uint64_t, PlainPlan::kMostOnLink> open;
  std::size_t count = 0;
  each_on(link, [&](const User& user) { open[count++] = allowed(user, id); });
  std::uint64_t capacity = link.capacity;
  while (count > 0) {
    const std::uint64_t level = capacity / count;
    std::size_t left = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (open[i] < level) {
        capacity -= open[i];
      } else {
        open[left++] = open[i];
      }
    }
    if (left == count) return level;
    count = left;
  }
  return kUnlimited;
}

}  // namespace lockstep::fold
