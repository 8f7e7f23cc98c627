#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// A list such as "8", "2..16" or "2,4,8..10", ascending without duplicates. `name` is the option;
/// `least`: 1 for rank counts, 0 for ranks. Throws UsageError.
[[nodiscard]] std::vector<int> parse_rank_list(const std::string& name, const std::string& text,
                                               int least = 1);

}  // namespace lockstep::cli
