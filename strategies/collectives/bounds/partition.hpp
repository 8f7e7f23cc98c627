#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "strategies/collectives/bounds/collective_demand.hpp"

namespace lockstep {

/// Minimum time of a partition's edges.
struct EdgeTimes {
  Duration each;      // the slowest single group; valid also with switches that reduce or multicast
  Duration together;  // all groups together; valid if only endpoints reduce and copy

  [[nodiscard]] Duration longest() const { return each < together ? together : each; }
};

/// Disjoint groups of endpoints that contain all members (and auxiliary ranks), with the bandwidth
/// leaving and entering each. Members are assigned in order: the first group added contains the
/// first of them. Equal groups may be added together.
class Partition {
 public:
  explicit Partition(std::string name) : name_{std::move(name)} {}
  /// `groups` groups of `members` each.
  void add(Rate leaving, Rate entering, std::int64_t groups = 1, std::int64_t members = 1);
  /// The next `members` are in groups with unknown edges.
  void skip(std::int64_t members);
  /// Auxiliary ranks are in groups with unknown edges.
  void skip_auxiliaries() { complete_ = false; }
  /// Groups of auxiliary ranks only.
  void add_auxiliaries(Rate leaving, Rate entering, std::int64_t groups = 1);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Members added or skipped.
  [[nodiscard]] std::int64_t members() const { return members_; }
  /// At least f*S bytes over an edge of B bytes per second take at least f*S/B.
  [[nodiscard]] EdgeTimes least_times(const CollectiveDemand& demand, Bytes message) const;

 private:
  /// Consecutive equal groups.
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
  std::vector<Groups> groups_;    // with members
  std::int64_t group_count_ = 0;  // of those
  std::int64_t members_ = 0;      // assigned so far
  bool complete_ = true;          // nothing was skipped
  UInt128 leaving_steps_ = 0;     // all groups, in 2^-16 bytes per second
  UInt128 entering_steps_ = 0;
};

}  // namespace lockstep
