#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// --set-rank RANK SETTINGS, repeatable.
struct RankSettingOptions {
  std::vector<std::pair<std::string, std::string>> given;

  void add_to(const Command& command);
  /// Throws UsageError for malformed settings; ranks are checked against the cluster later.
  [[nodiscard]] std::vector<app::RankSetting> parsed() const;
};

}  // namespace lockstep::cli
