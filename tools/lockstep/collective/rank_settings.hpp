#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/workload.hpp"
#include "sim/network/network.hpp"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// What one rank has of its own; what is absent is as on every rank. Keys are those of device
/// files.
struct RankSetting {
  int rank = 0;
  std::optional<Duration> start;             // when it begins
  std::optional<Duration> message_overhead;  // of the sender, per message
  std::optional<Rate> reduce_rate;
};

/// --set-rank RANK SETTINGS, repeatable.
struct RankSettings {
  std::vector<std::pair<std::string, std::string>> given;

  void add_to(CLI::App& command);
  /// Throws UsageError for what is no such setting; whether there is the rank only the cluster
  /// knows.
  [[nodiscard]] std::vector<RankSetting> parsed() const;
};

/// Throws UsageError where one names a rank that `ranks` do not have.
void check_ranks(const std::vector<RankSetting>& settings, int ranks);
/// Makes those end points what the settings say; rank r is end point r.
void apply(const std::vector<RankSetting>& settings, Network& network);
/// The same for when they begin; `starts` may be empty, which is all at once.
void apply(const std::vector<RankSetting>& settings, std::size_t members,
           std::vector<TimePoint>& starts);

}  // namespace lockstep::cli
