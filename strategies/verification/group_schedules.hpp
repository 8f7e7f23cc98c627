#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/program/execution_options.hpp"
#include "strategies/collectives/algorithm.hpp"
#include "strategies/verification/stage.hpp"

namespace lockstep {

class CollectiveChoice;

/// Schedules for the collectives of an execution: with a stage, those chosen when simulating there;
/// otherwise the group's algorithm in `algorithms`, if the collective has it and the number of
/// ranks permits, else a common one.
class GroupSchedules {
 public:
  /// `stage`: may be null; must outlive this object. `ranks`: of the mesh.
  GroupSchedules(std::map<std::string, std::string> algorithms, const VerificationStage* stage,
                 int ranks);
  ~GroupSchedules();
  GroupSchedules(const GroupSchedules&) = delete;
  GroupSchedules& operator=(const GroupSchedules&) = delete;

  /// `members`: as in ScheduleOf; `message`: size by the collective's contract.
  [[nodiscard]] SchedulePtr of(const Communication& how, const std::vector<int>& members, int root,
                               Bytes message);
  /// "dp: all_reduce among 8 by ring", in order of first use, without duplicates.
  [[nodiscard]] const std::vector<std::string>& report() const { return report_; }

 private:
  struct Staged;
  [[nodiscard]] SchedulePtr usual(const Communication& how, int members, int root);
  void tell(const Communication& how, std::size_t members, const std::string& by);

  std::map<std::string, std::string> algorithms_;
  std::unique_ptr<Staged> staged_;  // null without a stage
  std::map<std::string, SchedulePtr> made_{};
  std::vector<std::string> report_{};
};

}  // namespace lockstep
