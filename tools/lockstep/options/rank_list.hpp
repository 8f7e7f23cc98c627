#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Numbers as written: "8", "2..16", "2,4,8..10"; each once, ascending. `name` is the option's;
/// `least` 1: how many ranks, 0: which. Throws UsageError.
[[nodiscard]] std::vector<int> parse_rank_list(const std::string& name, const std::string& text,
                                               int least = 1);

}  // namespace lockstep::cli
