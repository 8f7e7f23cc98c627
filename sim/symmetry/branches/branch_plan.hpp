#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/symmetry/branches/branch_schedule.hpp"

namespace lockstep::fold {

/// What the members of a branch do and over which links, written down for BranchEngine: few
/// connections, each of one lane at either end, and steps that mostly repeat.
struct BranchPlan {
  static constexpr std::size_t kMostConnections = 64;
  static constexpr std::size_t kMostHops = 4;
  static constexpr std::uint32_t kAttachment = UINT32_MAX;  // in place of a lane

  /// One end of a transfer in a step.
  struct End {
    std::uint32_t connection = 0;
    bool sends = false;
    bool reduces = false;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;  // of so many messages as it stands for
  };
  /// So many steps that are alike: ends [first_end, last_end).
  struct Run {
    std::int64_t steps = 0;
    std::uint32_t first_end = 0;
    std::uint32_t last_end = 0;
  };
  struct Lane {
    std::uint32_t member = 0;
    std::uint32_t first_run = 0;
    std::uint32_t last_run = 0;
  };
  struct Connection {
    std::uint32_t sender = kAttachment;  // lanes
    std::uint32_t receiver = kAttachment;
    std::int64_t latency_ps = 0;
    std::uint64_t alone = 0;   // its rate where it shares with nobody; 0: it crosses no link
    std::uint64_t rivals = 0;  // connections, by bits, that share a link with it
    std::array<std::uint8_t, kMostHops> links{};
    std::uint8_t hops = 0;
  };

  std::vector<End> ends;
  std::vector<Run> runs;
  std::vector<Lane> lanes;  // lane l of member m is m * lanes_each + l
  std::uint32_t lanes_each = 1;
  std::vector<Connection> connections;
  std::vector<std::uint32_t> connection_of;       // per channel
  std::vector<std::uint64_t> capacities;          // per link, in rate steps
  std::vector<std::optional<Rate>> reduce_rates;  // per member
  std::vector<TimePoint> starts;                  // likewise
};

/// Empty where the branch is not as plain as that: other models than the fluid one, split routes,
/// waiting for other lanes, work in a rank's own memory, starts of its own, attachments that talk
/// to each other.
[[nodiscard]] std::optional<BranchPlan> make_branch_plan(const BranchWorkload& workload,
                                                         NetworkModel model);

}  // namespace lockstep::fold
