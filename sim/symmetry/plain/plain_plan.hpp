#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/lane_runs.hpp"
#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

/// Steps and links of a quotient for replay_plain(): lanes in runs of equal steps, and connections
/// each of which has one lane at either end and messages of one length.
struct PlainPlan {
  static constexpr std::size_t kMostHops = 4;
  static constexpr std::uint32_t kMostOnLink = 64;
  static constexpr std::size_t kMostEnds = 64;  // of a step

  /// One end of a transfer in a step.
  struct End {
    std::uint32_t connection = 0;
    bool sends = false;
  };
  using Run = StepRun;
  using Lane = PlannedLane;
  /// Where a connection crosses a link: it is the link's user of that number.
  struct Hop {
    std::uint32_t link = 0;
    std::uint32_t number = 0;
  };
  struct Connection {
    std::uint32_t sender = UINT32_MAX;  // lanes
    std::uint32_t receiver = UINT32_MAX;
    std::int64_t bytes = -1;
    std::int64_t reduced = 0;  // at the receiver, over all messages it stands for
    std::int64_t latency_ps = 0;
    std::uint32_t hops = 0;
    std::array<Hop, kMostHops> over{};
  };
  struct Link {
    std::uint64_t capacity = 0;  // in rate steps
    std::vector<std::uint32_t> users{};
  };

  std::vector<End> ends;
  std::vector<Run> runs;
  std::vector<Lane> lanes;
  std::vector<Connection> connections;
  std::vector<Link> links;
  std::vector<std::optional<Rate>> reduce_rates;  // per member
  std::vector<TimePoint> starts;                  // per member
  std::uint32_t lanes_each = 1;
  std::uint64_t transfers = 0;
};

/// Empty if the quotient needs the full engine: several calls, a model other than fluid, slots,
/// traffic weights, split routes, message overheads, transfers that take no time before they share,
/// steps with dependencies between lanes or with local work.
[[nodiscard]] std::optional<PlainPlan> make_plain_plan(const Quotient& quotient,
                                                       NetworkModel model);

}  // namespace lockstep::fold
