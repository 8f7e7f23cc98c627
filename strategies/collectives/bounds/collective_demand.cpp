#include "strategies/collectives/bounds/collective_demand.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

constexpr MessageFraction kNothing{0, 1};
constexpr MessageFraction kAll{1, 1};

}  // namespace

CollectiveDemand::CollectiveDemand(Collective collective, std::int64_t members, std::int64_t root,
                                   std::int64_t distance)
    : collective_{collective}, members_{members}, root_{root}, distance_{distance % members} {
  LOCKSTEP_CHECK(members > 0);
  LOCKSTEP_CHECK(0 <= root && root < members);
  if (distance_ < 0) distance_ += members;
}

/// Of `count` neighbors, those that the shift takes elsewhere.
std::int64_t CollectiveDemand::shifted_out(std::int64_t count) const {
  const std::int64_t stay = std::max<std::int64_t>(0, count - distance_) +
                            std::max<std::int64_t>(0, count - (members_ - distance_));
  return distance_ == 0 ? 0 : count - stay;
}

MessageFraction CollectiveDemand::leaving(std::int64_t count, bool with_root) const {
  const std::int64_t others = members_ - count;
  if (others == 0) return kNothing;
  switch (collective_) {
    case Collective::all_reduce:
      return kAll;
    case Collective::reduce_scatter:
      return {others, members_};
    case Collective::all_gather:
      return {count, members_};
    case Collective::broadcast:
      return with_root ? kAll : kNothing;
    case Collective::reduce:
      return with_root ? kNothing : kAll;
    case Collective::scatter:
      return with_root ? MessageFraction{others, members_} : kNothing;
    case Collective::gather:
      return with_root ? kNothing : MessageFraction{count, members_};
    case Collective::all_to_all:
      return {count * others, members_};
    case Collective::send_recv:
      return {shifted_out(count), 1};
    case Collective::barrier:
      break;
  }
  return kNothing;
}

/// Backwards in time a collective is its mirror image.
MessageFraction CollectiveDemand::entering(std::int64_t count, bool with_root) const {
  constexpr auto mirror = [](Collective collective) {
    switch (collective) {
      case Collective::reduce_scatter:
        return Collective::all_gather;
      case Collective::all_gather:
        return Collective::reduce_scatter;
      case Collective::broadcast:
        return Collective::reduce;
      case Collective::reduce:
        return Collective::broadcast;
      case Collective::scatter:
        return Collective::gather;
      case Collective::gather:
        return Collective::scatter;
      default:
        return collective;
    }
  };
  return CollectiveDemand{mirror(collective_), members_, root_, distance_}.leaving(count,
                                                                                   with_root);
}

MessageFraction CollectiveDemand::together(std::int64_t groups) const {
  if (groups < 2) return kNothing;
  switch (collective_) {
    case Collective::all_reduce:
      return {2 * (groups - 1), 1};
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::all_gather:
      return {groups - 1, 1};
    default:
      return kNothing;
  }
}

bool CollectiveDemand::reaches(std::int64_t i, std::int64_t j) const {
  if (i == j) return false;
  switch (collective_) {
    case Collective::broadcast:
    case Collective::scatter:
      return i == root_;
    case Collective::reduce:
    case Collective::gather:
      return j == root_;
    case Collective::send_recv:
      return (i + distance_) % members_ == j;
    default:
      return true;
  }
}

std::int64_t CollectiveDemand::additions() const {
  return reduces(collective_) ? members_ - 1 : 0;
}

}  // namespace lockstep
