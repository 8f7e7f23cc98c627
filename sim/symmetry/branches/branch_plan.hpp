#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/lane_runs.hpp"
#include "sim/symmetry/branches/branch_schedule.hpp"

namespace lockstep::fold {

/// Steps and links of a branch for BranchEngine: few connections, one lane at each end, runs of
/// equal steps.
struct BranchPlan {
  static constexpr std::size_t kMostConnections = 64;
  static constexpr std::size_t kMostHops = 4;
  static constexpr std::uint32_t kAttachment = UINT32_MAX;  // instead of a lane

  /// One end of a transfer in a step.
  struct End {
    std::uint32_t connection = 0;
    bool sends = false;
    bool reduces = false;
    std::int64_t bytes = 0;
    std::int64_t reduced = 0;  // over all messages it stands for
  };
  using Run = StepRun;
  using Lane = PlannedLane;
  struct Connection {
    std::uint32_t sender = kAttachment;  // lanes
    std::uint32_t receiver = kAttachment;
    std::int64_t latency_ps = 0;
    std::uint64_t alone = 0;   // rate without contention; 0: crosses no link
    std::uint64_t rivals = 0;  // bit set of connections that share a link with it
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
  std::vector<TimePoint> starts;                  // per member
};

/// Empty if the branch needs the full engine: a model other than fluid, split routes, dependencies
/// between lanes, local copies, start offsets, attachments that communicate with each other.
[[nodiscard]] std::optional<BranchPlan> make_branch_plan(const BranchWorkload& workload,
                                                         NetworkModel model);

}  // namespace lockstep::fold
