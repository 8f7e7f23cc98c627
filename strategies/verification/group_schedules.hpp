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

/// The schedules by which an execution does its collectives: with a stage those that simulating the
/// layout there chooses; else of the group's algorithm in `algorithms` where the collective has it
/// and so many ranks allow it, or of a usual one.
class GroupSchedules {
 public:
  /// `stage` may be null, and must outlive it; `ranks` of the mesh.
  GroupSchedules(std::map<std::string, std::string> algorithms, const VerificationStage* stage,
                 int ranks);
  ~GroupSchedules();
  GroupSchedules(const GroupSchedules&) = delete;
  GroupSchedules& operator=(const GroupSchedules&) = delete;

  /// Members as in ScheduleOf; `message` as contracts count it.
  [[nodiscard]] SchedulePtr of(const Communication& how, const std::vector<int>& members, int root,
                               Bytes message);
  /// "dp: all_reduce among 8 by ring", in order of first use, each once.
  [[nodiscard]] const std::vector<std::string>& report() const { return report_; }

 private:
  struct Staged;
  [[nodiscard]] SchedulePtr usual(const Communication& how, int members, int root);
  void tell(const Communication& how, std::size_t members, const std::string& by);

  std::map<std::string, std::string> algorithms_;
  std::unique_ptr<Staged> staged_;  // null: no stage
  std::map<std::string, SchedulePtr> made_{};
  std::vector<std::string> report_{};
};

}  // namespace lockstep
