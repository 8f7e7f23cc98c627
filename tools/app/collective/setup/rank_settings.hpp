#pragma once

#include <optional>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep::app {

/// Individual parameters of one rank; absent ones are as on every rank. Keys are those of device
/// files.
struct RankSetting {
  int rank = 0;
  std::optional<Duration> start;             // start time
  std::optional<Duration> message_overhead;  // occupies the sender, per message
  std::optional<Rate> reduce_rate;
};

/// Throws RequestError for settings of a missing rank.
void check_ranks(const std::vector<RankSetting>& settings, int ranks);
/// Applies the settings to the network; rank r is endpoint r.
void apply(const std::vector<RankSetting>& settings, Network& network);
/// Applies the settings to start times; empty `starts`: all start together.
void apply(const std::vector<RankSetting>& settings, std::size_t members,
           std::vector<TimePoint>& starts);

}  // namespace lockstep::app
