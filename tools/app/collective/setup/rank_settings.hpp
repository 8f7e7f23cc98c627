#pragma once

#include <optional>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep::app {

/// What one rank has of its own; what is absent is as on every rank. Keys are those of device
/// files.
struct RankSetting {
  int rank = 0;
  std::optional<Duration> start;             // when it begins
  std::optional<Duration> message_overhead;  // of the sender, per message
  std::optional<Rate> reduce_rate;
};

/// Throws RequestError where one names a rank that `ranks` do not have.
void check_ranks(const std::vector<RankSetting>& settings, int ranks);
/// Makes those end points what the settings say; rank r is end point r.
void apply(const std::vector<RankSetting>& settings, Network& network);
/// The same for when they begin; `starts` may be empty, which is all at once.
void apply(const std::vector<RankSetting>& settings, std::size_t members,
           std::vector<TimePoint>& starts);

}  // namespace lockstep::app
