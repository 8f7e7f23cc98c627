#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::cli {

/// --set-rank RANK compute=SPEED, repeatable: by rank, how fast it computes, 1 being the speed of
/// the others. Throws UsageError.
[[nodiscard]] std::map<int, double> parse_rank_speeds(
    const std::vector<std::pair<std::string, std::string>>& given);
/// Throws UsageError where one names a rank that `ranks` do not have.
void check_rank_speeds(const std::map<int, double>& speeds, int ranks);

}  // namespace lockstep::cli
