#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/schedule/workload.hpp"
#include "tools/app/ranks/rank_draws.hpp"
#include "tools/app/ranks/speed_draw.hpp"

namespace lockstep::app {

/// Individual parameters of one rank; absent ones are as on every rank. Keys are those of device
/// files.
struct RankSetting {
  int rank = 0;
  std::optional<Duration> start{};             // start time
  std::optional<Duration> message_overhead{};  // occupies the sender, per message
  std::optional<Rate> reduce_rate{};
  std::optional<double> compute{};  // speed of reductions, relative to their rate
  std::string compute_of{};         // RankChoice::text of it, for errors
};

/// A start time of several ranks: the same, or drawn for each up to `last`.
struct StartDraw {
  Duration first;
  std::optional<Duration> last{};

  [[nodiscard]] Duration of(int rank, std::uint64_t seed) const;
};

/// Start delay of a rank with --skew, from zero to `most`.
[[nodiscard]] Duration skew_of(std::uint64_t seed, std::size_t rank, Duration most);

/// Individual parameters of several ranks.
struct RankSettingRange {
  RankChoice ranks{};
  std::optional<StartDraw> start{};
  std::optional<Duration> message_overhead{};
  std::optional<Rate> reduce_rate{};
  std::optional<SpeedDraw> compute{};

  [[nodiscard]] bool draws_values() const {
    return (start && start->last) || (compute && compute->draws());
  }
};

/// The settings of all ranks, ascending.
struct RankSettings {
  std::vector<RankSetting> ranks{};
  std::set<int> drawn{};  // ranks that were drawn, or for which values were
};

/// Of `ranges`, where a later one overrides the values that it has. Ranges draw ranks that none
/// before has drawn. Throws RequestError for missing ranks, and for draws of more than are left;
/// `of`: who has the ranks.
[[nodiscard]] RankSettings rank_settings(const std::vector<RankSettingRange>& ranges, int ranks,
                                         std::uint64_t seed, const std::string& of);
/// Of a collective on this network: also throws RequestError for speeds where reductions take no
/// time.
[[nodiscard]] RankSettings rank_settings(const std::vector<RankSettingRange>& ranges, int ranks,
                                         std::uint64_t seed, const Network& network);
/// Applies the settings to the network; rank r is endpoint r.
void apply(const std::vector<RankSetting>& settings, Network& network);
/// Applies the settings to start times; empty `starts`: all start together.
void apply(const std::vector<RankSetting>& settings, std::size_t members,
           std::vector<TimePoint>& starts);

}  // namespace lockstep::app
