#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/app/campaign/file/campaign_file.hpp"
#include "tools/app/campaign/file/long_time.hpp"
#include "tools/app/campaign/replicate/unit_events.hpp"

/// A campaign on a cluster, resolved to what one replicate needs: plain data.
namespace lockstep::app {

/// A fraction above 1 of a slowdown in 2^-32: 1.5 is 2^31.
using SlowdownSteps = std::uint64_t;
inline constexpr int kSlowdownBits = 32;
[[nodiscard]] inline SlowdownSteps slowdown_steps(double more) {
  return static_cast<SlowdownSteps>(
      std::llround(more * static_cast<double>(std::uint64_t{1} << kSlowdownBits)));
}

struct JobCause {
  LongTime detection{};
  LongTime restart{};
  std::optional<LongTime> repair{};
  FailurePolicy policy = FailurePolicy::rollback;
  bool hardware = true;
  std::int64_t nodes = 0;           // to replace
  std::int64_t ranks_per_unit = 1;  // that a failure stops
  /// The cause that it counts as, if it is not the one with the same index.
  std::optional<std::size_t> counts_as{};
};

struct JobSlowdown {
  LongTime duration{};
  SlowdownSteps slower = 0;  // of the step
};

/// GPUs of a class of slowdown: those whose uniform draw is at least `from`.
struct JobSlowClass {
  double from = 1;
  SlowdownSteps slower = 0;  // of the step
};

/// A unit of a fault domain of a cluster that jobs share.
struct UnitUse {
  std::int64_t nodes = 0;
  bool mine = false;
};

struct CampaignJob {
  LongTime work{};                       // ideal time of all steps; never(): until the horizon
  LongTime horizon = LongTime::never();  // end of wall time
  LongTime give_up = LongTime::never();  // wall time at which a replicate is abandoned

  LongTime interval{};  // training between saves
  LongTime stall{};     // of training per save
  LongTime write{};     // after it, until an asynchronous save is durable; 0: synchronous
  LongTime load{};      // of a restore
  bool asynchronous = false;
  StartupTimes startup{};
  SlowdownSteps data_stall = 0;

  std::vector<UnitProcess> failures{};  // of causes, in the same order
  std::vector<JobCause> causes{};
  std::vector<UnitProcess> slowdowns{};  // of transients, in the same order
  std::vector<JobSlowdown> transients{};
  std::uint64_t straggler_key = 0;
  std::vector<JobSlowClass> slow_classes{};
  std::vector<PlannedMaintenance> maintenance{};

  /// Of a job on some GPUs of a cluster, by GPU of it: the job's rank there, else -1. Empty: the
  /// ranks are the GPUs.
  std::vector<std::int64_t> rank_of_gpu{};
  /// With it, by cause and unit: nodes with GPUs of any job, and whether any is of this one.
  std::vector<std::vector<UnitUse>> unit_uses{};

  std::int64_t ranks = 1;
  std::int64_t spare_nodes = 0;
  LongTime spare_swap{};
  std::int64_t replicas = 1;                 // dp
  std::int64_t ranks_per_replica_block = 1;  // consecutive ranks of the same replica

  /// Whether a failure of a unit stops this job.
  [[nodiscard]] bool concerns(std::size_t cause, std::int64_t unit) const {
    return unit_uses.empty() || unit_uses[cause][static_cast<std::size_t>(unit)].mine;
  }
  /// Nodes to replace after it.
  [[nodiscard]] std::int64_t nodes_of(std::size_t cause, std::int64_t unit) const {
    return unit_uses.empty() ? causes[cause].nodes
                             : unit_uses[cause][static_cast<std::size_t>(unit)].nodes;
  }
};

}  // namespace lockstep::app
