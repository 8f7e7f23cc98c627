#pragma once

#include <string>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// A row for every message and local operation, for CSV and JSON.
[[nodiscard]] Report event_report(const Explanation& explanation);
/// These rows with the cost and the tables of chunks before them.
[[nodiscard]] std::string render_json(const Explanation& explanation);

}  // namespace lockstep::cli
