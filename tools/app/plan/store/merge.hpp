#pragma once

#include <string>
#include <vector>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

struct MergeRequest {
  std::vector<std::string> files{};  // stores of the same search
  std::string output{};              // store that takes their points; empty: none
  std::string tool_version{};
  std::size_t threads = 0;
};

/// The result of the search that the stores are shards of, or of the part of it that they hold.
/// In any order and grouping, and with the same store twice, the result is the same. Errors:
/// RequestError for stores of another space, search or version, for shards that are not complete
/// or overlap, and for files that are no stores; IoError; Refusal as plan().
[[nodiscard]] PlanResult merge_stores(const MergeRequest& request);

}  // namespace lockstep::app
