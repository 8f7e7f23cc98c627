#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <vector>

#include "tools/app/campaign/replicate/campaign_job.hpp"

namespace lockstep::app {

/// Hardware for the nodes that failed.
struct Replacement {
  LongTime ready{};
  bool from_spares = false;
  bool waits = false;  // for a repair
};

/// Spare nodes, and replicas that have left.
class Fleet {
 public:
  explicit Fleet(const CampaignJob& job) : job_{job}, spares_{job.spare_nodes} {}

  /// For a failure with a repair. With hot spares, spare nodes and after them the first ones that
  /// come back from repair; else the failed ones.
  [[nodiscard]] Replacement replace(const JobCause& cause, LongTime now);

  /// Whether all replicas that a unit belongs to have left until after `at`.
  [[nodiscard]] bool is_gone(const JobCause& cause, std::int64_t unit, LongTime at) const;
  /// Its replicas leave; false, and they stay, if no replica would be left.
  [[nodiscard]] bool leave(const JobCause& cause, std::int64_t unit, LongTime until);
  /// Whether any replica returns.
  bool take_back(LongTime now);
  [[nodiscard]] std::int64_t missing() const { return static_cast<std::int64_t>(gone_.size()); }
  [[nodiscard]] LongTime next_return() const;

 private:
  using Returns = std::priority_queue<LongTime, std::vector<LongTime>, std::greater<>>;
  [[nodiscard]] std::vector<std::int64_t> replicas_of(const JobCause& cause,
                                                      std::int64_t unit) const;

  const CampaignJob& job_;
  std::int64_t spares_;
  Returns repaired_{};                       // nodes
  std::map<std::int64_t, LongTime> gone_{};  // replicas, until when
};

}  // namespace lockstep::app
