#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/schedule.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/lowering/costs/rank_speed.hpp"
#include "strategies/step/lowering/fold_communications.hpp"

namespace lockstep {

/// The steps of one rank of a collective, repeated steps once; sizes in bytes, peers by position.
struct OwnScheduleSteps {
  std::vector<ScheduleStep> steps{};
  std::int64_t messages = 0;  // that it sends, repetitions included
};

/// The part of one rank or host in one of the step's communications.
struct RankPart {
  std::uint32_t communication = 0;
  const ChosenCollective* chosen = nullptr;  // of collectives
  const OwnScheduleSteps* own = nullptr;     // of collectives
  int group_of = 0;                          // a rank of its group; for a rank's own part, itself
  int position = 0;                          // in its group; reducing switches come last
  std::uint32_t first_step = 0;              // in TrainingStepSchedule
  std::uint32_t steps = 0;  // distinct ones; 0: the same as those of an earlier part
};

/// All distinct communications of a training step in sequence, as one schedule of all ranks, then
/// hosts, then reducing switches. States who communicates with whom, not when. A block is one byte.
class TrainingStepSchedule final : public Schedule {
 public:
  /// `endpoint`: of a rank or host.
  TrainingStepSchedule(const Program& program, const TrainingStepCommunications& communications,
                       CollectiveChoice& choice, const std::function<EndpointId(int)>& endpoint,
                       const RankSpeeds& speeds);

  [[nodiscard]] int ranks() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] std::int64_t blocks() const override { return 1; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override;

  [[nodiscard]] const std::vector<RankPart>& parts(int rank) const {
    return parts_[static_cast<std::size_t>(rank)];
  }
  /// The part of a rank in a communication of its role.
  [[nodiscard]] const RankPart& part(int rank, std::uint32_t communication) const;
  /// Number of ranks and hosts; higher indices are switches.
  [[nodiscard]] int performers() const { return performers_; }
  [[nodiscard]] EndpointId switch_at(int rank) const {
    return switches_[static_cast<std::size_t>(rank - performers_)];
  }
  /// Number of ranks in the schedule of a part's group, and the schedule rank of one of them.
  [[nodiscard]] int participants(const RankPart& part) const;
  [[nodiscard]] int player(const RankPart& part, int position) const;
  /// Maximum number of channels of any collective.
  [[nodiscard]] int channels() const { return channels_; }

 private:
  [[nodiscard]] const OwnScheduleSteps& own_steps(const ChosenCollective& chosen, int position);
  [[nodiscard]] bool is_redundant(const std::vector<RankPart>& before, const RankPart& part);
  [[nodiscard]] bool alike(const ChosenCollective& a, const ChosenCollective& b);
  /// One group's instance of a communication, identified by its first member.
  using GroupKey = std::pair<std::uint32_t, int>;
  struct ChosenGroup {
    const ChosenCollective* chosen = nullptr;
    std::vector<EndpointId> switches{};  // for schedule ranks beyond the members
  };
  void add_switches();
  void add_switch_part(const GroupKey& key, const ChosenGroup& group, std::size_t index);
  void add_rank(int rank, std::size_t role, const std::function<EndpointId(int)>& endpoint,
                CollectiveChoice& choice, const RankSpeed& speed);
  [[nodiscard]] const ChosenCollective* choose(std::uint32_t id, int rank,
                                               const std::function<EndpointId(int)>& endpoint,
                                               CollectiveChoice& choice);
  void add_inner(const RankPart& part, std::int64_t index, ScheduleStep& step) const;

  const Program& program_;
  const TrainingStepCommunications& communications_;
  std::vector<std::vector<RankPart>> parts_;  // per rank
  std::vector<std::int64_t> kind_;            // per rank: equal for equal role, speed and parts
  std::map<std::pair<const ChosenCollective*, int>, OwnScheduleSteps> own_steps_;
  std::map<GroupKey, ChosenGroup> chosen_;
  int performers_ = 0;
  std::vector<EndpointId> switches_;       // in order
  std::map<EndpointId, int> switch_rank_;  // their ranks in this schedule
  std::map<std::pair<const ChosenCollective*, const ChosenCollective*>, bool> alike_;
  /// Whether a role's communication with a chosen algorithm is redundant.
  std::map<std::tuple<std::size_t, std::uint32_t, const ChosenCollective*>, bool> redundant_;
  std::map<std::vector<std::uint64_t>, std::int64_t> kinds_;
  int channels_ = 1;
};

}  // namespace lockstep
