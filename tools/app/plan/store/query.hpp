#pragma once

#include <string>

#include "tools/app/plan/store/database.hpp"

namespace lockstep::app {

/// Rows of one SELECT over a store. Errors: RequestError for a file that is not a store; at "sql"
/// for statements that fail or are not a SELECT.
[[nodiscard]] DatabaseRows query_store(const std::string& file, const std::string& sql);

}  // namespace lockstep::app
