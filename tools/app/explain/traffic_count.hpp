#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep::app {

/// What a schedule moves, in messages and blocks, auxiliary ranks included.
struct TrafficCount {
  /// Messages that follow one another; none: too many to follow.
  std::optional<std::int64_t> rounds = 0;
  std::int64_t messages = 0;        // of all
  std::int64_t total_blocks = 0;    // sent by all
  std::int64_t sent_blocks = 0;     // most that one of the first `senders` ranks sends
  std::int64_t busiest_blocks = 0;  // most that one sends and receives, together
};

/// Walks every step of every rank, a phase's steps once. Empty where that would take more than
/// `most_visits` messages and steps.
[[nodiscard]] std::optional<TrafficCount> count_traffic(const Schedule& schedule, int senders,
                                                        std::int64_t most_visits = 50'000'000);

}  // namespace lockstep::app
