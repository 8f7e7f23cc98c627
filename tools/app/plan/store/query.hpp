#pragma once

#include <string>

#include "tools/app/plan/store/database.hpp"

namespace lockstep::app {

/// The rows of one SELECT over a store. Errors: RequestError for a file that is no store, and with
/// the place "sql" for what SQLite cannot run or what is no SELECT.
[[nodiscard]] DatabaseRows query_store(const std::string& file, const std::string& sql);

}  // namespace lockstep::app
