#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/app/ranks/rank_draws.hpp"
#include "tools/app/ranks/speed_draw.hpp"
#include "tools/lockstep/parser/settings.hpp"

/// Ranks and speeds of --gpu-speed and --set-rank, of every command that has these.
namespace lockstep::cli {

/// "17", "0..63", "3,7,12..15", "all" or "random:1%". None: none of these. Throws UsageError for a
/// share that is none, a range that descends and an empty part of a list; `option`: "--set-rank".
[[nodiscard]] std::optional<app::RankChoice> parse_rank_choice(const std::string& option,
                                                               const std::string& text);

/// Of --set-rank. Throws UsageError.
[[nodiscard]] app::RankChoice set_rank_choice(const std::string& text);

/// "0.8", "0.9..0.99" or "normal(0.95,0.02)". None: none of these, or not within the slowest and
/// the fastest.
[[nodiscard]] std::optional<app::SpeedDraw> parse_speed(std::string_view text);

/// "0.8" as "compute=0.8"; any other setting unchanged.
[[nodiscard]] Setting speed_as_compute(const Setting& setting);

/// For help texts and errors.
inline constexpr std::string_view kRankChoices = "17, 0..7, 3,9,12..15, all, or random:1%";
inline constexpr std::string_view kSpeeds = "0.8, 0.9..0.99 or normal(0.95,0.02)";

}  // namespace lockstep::cli
