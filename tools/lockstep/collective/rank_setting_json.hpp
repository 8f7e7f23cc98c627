#pragma once

#include <vector>

#include "tools/app/collective/setup/rank_settings.hpp"
#include "tools/app/json.hpp"

namespace lockstep::cli {

/// Adds individual parameters of ranks to the configuration of a result, if there are any.
void add_rank_settings(const std::vector<app::RankSetting>& settings, app::Json& config);

}  // namespace lockstep::cli
