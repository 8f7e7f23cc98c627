#include "strategies/collectives/bounds/partition.hpp"

#include <algorithm>
#include <numeric>

#include "strategies/collectives/bounds/floor_time.hpp"

namespace lockstep {
namespace {

Duration share_over(Bytes message, MessageFraction share, UInt128 rate_steps) {
  if (share.parts == 0 || rate_steps == 0) return {};
  const std::int64_t common = std::gcd(share.parts, share.of);
  return floor_time(repeated_work(message, share.parts / common),
                    rate_steps * static_cast<std::uint64_t>(share.of / common));
}

UInt128 times(Rate rate, std::int64_t groups) {
  return UInt128{rate.steps()} * static_cast<std::uint64_t>(groups);
}

}  // namespace

void Partition::add(Rate leaving, Rate entering, std::int64_t groups, std::int64_t members) {
  if (groups == 0) return;
  const auto alike = [&](const Groups& last) {
    return last.leaving == leaving && last.entering == entering && last.members == members &&
           last.first + last.count * last.members == members_;
  };
  if (!groups_.empty() && alike(groups_.back())) {
    groups_.back().count += groups;
  } else {
    groups_.push_back({leaving, entering, members_, members, groups});
  }
  group_count_ += groups;
  members_ += groups * members;
  leaving_steps_ += times(leaving, groups);
  entering_steps_ += times(entering, groups);
}

void Partition::skip(std::int64_t members) {
  members_ += members;
  complete_ = complete_ && members == 0;
}

void Partition::add_auxiliaries(Rate leaving, Rate entering, std::int64_t groups) {
  leaving_steps_ += times(leaving, groups);
  entering_steps_ += times(entering, groups);
}

/// The root, where it lies here, is in one of the groups.
Duration Partition::least_time_of(const Groups& groups, const CollectiveDemand& demand,
                                  Bytes message) const {
  const auto least_time = [&](bool with_root) {
    return std::max(
        share_over(message, demand.leaving(groups.members, with_root), groups.leaving.steps()),
        share_over(message, demand.entering(groups.members, with_root), groups.entering.steps()));
  };
  const std::int64_t after_first = demand.root() - groups.first;
  const bool root_here = 0 <= after_first && after_first < groups.count * groups.members;
  Duration least;
  if (root_here) least = std::max(least, least_time(true));
  if (!root_here || groups.count > 1) least = std::max(least, least_time(false));
  return least;
}

EdgeTimes Partition::least_times(const CollectiveDemand& demand, Bytes message) const {
  EdgeTimes least;
  if (group_count_ < 2 && complete_) return least;  // one group holds all
  for (const Groups& groups : groups_)
    least.each = std::max(least.each, least_time_of(groups, demand, message));
  if (!complete_) return least;  // what crosses may leave and enter groups unknown
  const MessageFraction together = demand.together(group_count_);
  least.together = std::max(share_over(message, together, leaving_steps_),
                            share_over(message, together, entering_steps_));
  return least;
}

}  // namespace lockstep
