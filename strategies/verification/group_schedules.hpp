#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/execute/host/program/execute_program.hpp"
#include "strategies/collectives/algorithm.hpp"

namespace lockstep {

/// The schedules by which an execution does its collectives: of the group's algorithm in
/// `algorithms` where the collective has it and so many ranks allow it, else of a usual one.
class GroupSchedules {
 public:
  explicit GroupSchedules(std::map<std::string, std::string> algorithms)
      : algorithms_{std::move(algorithms)} {}

  [[nodiscard]] SchedulePtr of(const Communication& how, int members, int root);
  /// "dp: all_reduce among 8 by ring", in order of first use.
  [[nodiscard]] const std::vector<std::string>& report() const { return report_; }

 private:
  std::map<std::string, std::string> algorithms_;
  std::map<std::string, SchedulePtr> made_{};
  std::vector<std::string> report_{};
};

}  // namespace lockstep
