#pragma once

#include <string>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Text for stdout: tables and Markdown in reading order; JSON and CSV with one row per message and
/// local operation, JSON also with the tables of chunks and the cost.
[[nodiscard]] std::string render(const Explanation& explanation, const OutputStyle& style);

}  // namespace lockstep::cli
