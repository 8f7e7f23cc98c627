#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

struct MergeRequest {
  std::vector<std::string> files{};  // stores of the same search
  std::string output{};              // store to write the union to; empty: none
  std::string tool_version{};
  std::size_t threads = 0;
  /// Reads changes that stores have as JSON (PartChanges::options).
  std::function<PartChanges(const std::string&)> read_changes{};
};

/// The result of the search whose shards these are, or of the part they cover. Commutative,
/// associative and idempotent. Errors:
/// RequestError for stores of another space, search or version, for incomplete or overlapping
/// shards and for files that are not stores; IoError; Refusal as plan().
[[nodiscard]] PlanResult merge_stores(const MergeRequest& request);

}  // namespace lockstep::app
