#pragma once

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

struct JobCause {
  LongTime detection{};
  LongTime restart{};
  std::optional<LongTime> repair{};
  FailurePolicy policy = FailurePolicy::rollback;
  bool hardware = true;
  std::int64_t nodes = 0;           // to replace
  std::int64_t ranks_per_unit = 1;  // that a failure stops
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

  std::int64_t ranks = 1;
  std::int64_t spare_nodes = 0;
  LongTime spare_swap{};
  std::int64_t replicas = 1;                 // dp
  std::int64_t ranks_per_replica_block = 1;  // consecutive ranks of the same replica
};

}  // namespace lockstep::app
