#pragma once

#include <cstddef>
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

/// Spare nodes of a cluster, which its jobs share.
class SparePool {
 public:
  explicit SparePool(std::int64_t nodes, bool shared = false) : spares_{nodes}, shared_{shared} {}

  /// Nodes for those of a failure, which are repaired at `repaired`: spare nodes and after them the
  /// first ones that come back from repair. The same for all jobs that the failure stops.
  [[nodiscard]] Replacement take(std::size_t failure, std::int64_t nodes, LongTime repaired,
                                 LongTime now);

 private:
  using Returns = std::priority_queue<LongTime, std::vector<LongTime>, std::greater<>>;

  std::int64_t spares_;
  Returns repaired_{};  // nodes
  bool shared_;
  std::map<std::size_t, Replacement> taken_{};  // by failure, if shared
};

/// Hardware of a job: its part of the spare nodes, and replicas that have left.
class Fleet {
 public:
  Fleet(const CampaignJob& job, SparePool& spares) : job_{job}, spares_{spares} {}

  /// For a failure (`number` in the trace) with a repair: with hot spares from the pool, else the
  /// failed hardware itself.
  [[nodiscard]] Replacement replace(const JobCause& cause, const UnitEvent& event,
                                    std::size_t number, LongTime now);

  /// Whether all replicas that a unit belongs to have left until after `at`.
  [[nodiscard]] bool is_gone(const JobCause& cause, std::int64_t unit, LongTime at) const;
  /// Its replicas leave; false, and they stay, if no replica would be left.
  [[nodiscard]] bool leave(const JobCause& cause, std::int64_t unit, LongTime until);
  /// Whether any replica returns.
  bool take_back(LongTime now);
  [[nodiscard]] std::int64_t missing() const { return static_cast<std::int64_t>(gone_.size()); }
  [[nodiscard]] LongTime next_return() const;

 private:
  [[nodiscard]] std::vector<std::int64_t> replicas_of(const JobCause& cause,
                                                      std::int64_t unit) const;
  [[nodiscard]] std::vector<std::int64_t> placed_replicas_of(const JobCause& cause,
                                                             std::int64_t unit) const;

  const CampaignJob& job_;
  SparePool& spares_;
  std::map<std::int64_t, LongTime> gone_{};  // replicas, until when
};

}  // namespace lockstep::app
