#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/app/campaign/file/long_time.hpp"

namespace lockstep::app {

/// What the wall time of a campaign is spent on: training that counts, then the badput. The kinds
/// of badput are those of ml-goodput-measurement (AI-Hypercomputer, BadputType), with names that
/// are not those of one vendor; each microsecond is in exactly one of them.
enum class TimeBucket : std::uint8_t {
  productive,
  accelerator_initialization,  // TPU_INITIALIZATION
  training_preparation,        // TRAINING_PREP
  program_startup,             // PROGRAM_STARTUP
  data_loading_sync,           // DATA_LOADING_SYNC: at each start
  data_loading_async,          // DATA_LOADING_ASYNC: stalls between steps
  checkpoint_save,             // UNPRODUCTIVE_CHECKPOINT_SAVE_TIME
  checkpoint_restore,          // UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME
  wasted_progress,             // WASTED_PROGRESS_FROM_DISRUPTION
  infrastructure_recovery,     // INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION: detection to restart
  custom,                      // CUSTOM: planned maintenance
  other,                       // OTHER: stragglers, and replicas that are missing
};
inline constexpr std::size_t kTimeBuckets = 12;
inline constexpr std::size_t kBadputBuckets = kTimeBuckets - 1;

inline constexpr std::array<std::string_view, kTimeBuckets> kBucketNames = {
    "productive",
    "accelerator_initialization",
    "training_preparation",
    "program_startup",
    "data_loading_sync",
    "data_loading_async",
    "checkpoint_save",
    "checkpoint_restore",
    "wasted_progress",
    "infrastructure_recovery",
    "custom",
    "other"};

/// Time by bucket; total() is the wall time.
struct BucketTimes {
  std::array<LongTime, kTimeBuckets> time{};

  [[nodiscard]] LongTime operator[](TimeBucket bucket) const {
    return time[static_cast<std::size_t>(bucket)];
  }
  [[nodiscard]] LongTime& operator[](TimeBucket bucket) {
    return time[static_cast<std::size_t>(bucket)];
  }
  [[nodiscard]] LongTime total() const {
    LongTime out{};
    for (const LongTime each : time) out += each;
    return out;
  }
};

}  // namespace lockstep::app
