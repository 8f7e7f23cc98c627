#pragma once

#include <cstdint>
#include <optional>

#include "sim/schedule/schedule.hpp"

namespace lockstep::app {

/// Messages and blocks of a schedule, auxiliary ranks included.
struct TrafficCount {
  /// Longest chain of dependent messages; none: too many to count.
  std::optional<std::int64_t> rounds = 0;
  std::int64_t messages = 0;               // of all ranks
  std::int64_t total_blocks = 0;           // sent by all ranks
  std::int64_t sent_blocks = 0;            // maximum over the first `senders` ranks
  std::int64_t busiest_blocks = 0;         // sent plus received, maximum over ranks
  std::int64_t busiest_sender_blocks = 0;  // the same over the first `senders` ranks
};

/// Walks every step of every rank, repeated phases once. Empty if this exceeds `most_visits`
/// messages and steps.
[[nodiscard]] std::optional<TrafficCount> count_traffic(const Schedule& schedule, int senders,
                                                        std::int64_t most_visits = 50'000'000);

}  // namespace lockstep::app
