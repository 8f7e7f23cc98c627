#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/collectives/bounds/collective_demand.hpp"

namespace lockstep {

/// What a partition's edges take at least.
struct EdgeTimes {
  Duration each;      // the slowest single group; holds also where switches reduce or multicast
  Duration together;  // all groups, where only end points add and copy

  [[nodiscard]] Duration longest() const { return each < together ? together : each; }
};

/// Disjoint groups of end points that hold all members (and auxiliary ranks), with the bandwidth of
/// all links that leave and enter each. Members are dealt in their order: the first group added
/// holds the first of them, and so on. Filled group by group or, for equal ones, many at once.
class Partition {
 public:
  explicit Partition(std::string name) : name_{std::move(name)} {}
  /// `groups` groups of `members` each.
  void add(Rate leaving, Rate entering, std::int64_t groups = 1, std::int64_t members = 1);
  /// The next `members` lie in groups whose edges are not known.
  void skip(std::int64_t members);
  /// Auxiliary ranks lie in groups whose edges are not known.
  void skip_auxiliaries() { complete_ = false; }
  /// Groups that hold auxiliary ranks only.
  void add_auxiliaries(Rate leaving, Rate entering, std::int64_t groups = 1);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// All that were added or skipped.
  [[nodiscard]] std::int64_t members() const { return members_; }
  /// B bytes a second over an edge, over which at least f*S have to go, take at least f*S/B.
  [[nodiscard]] EdgeTimes least_times(const CollectiveDemand& demand, Bytes message) const;

 private:
  /// Groups alike, one after the other.
  struct Groups {
    Rate leaving;
    Rate entering;
    std::int64_t first = 0;  // member
    std::int64_t members = 0;
    std::int64_t count = 0;
  };

  [[nodiscard]] Duration least_time_of(const Groups& groups, const CollectiveDemand& demand,
                                       Bytes message) const;

  std::string name_;
  std::vector<Groups> groups_;    // that hold members
  std::int64_t group_count_ = 0;  // of those
  std::int64_t members_ = 0;      // dealt so far
  bool complete_ = true;          // nobody was skipped
  UInt128 leaving_steps_ = 0;     // all groups, in 2^-16 bytes per second
  UInt128 entering_steps_ = 0;
};

}  // namespace lockstep
