#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --set-rank RANKS SETTINGS, repeatable.
struct RankSettingOptions {
  std::vector<std::pair<std::string, std::string>> given;

  /// `compute`: what the speed of that name is, "compute=0.8, the speed of ...".
  void add_to(const Command& command, const std::string& compute);
  /// Single ranks come last, so that they override others. Throws UsageError for malformed settings
  /// and for a rank that is given twice; ranks are checked against the cluster later.
  [[nodiscard]] std::vector<app::RankSettingRange> parsed() const;
};

}  // namespace lockstep::cli
