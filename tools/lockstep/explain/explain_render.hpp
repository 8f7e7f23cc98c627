#pragma once

#include <string>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Data for stdout: tables and Markdown tell everything in order; JSON and CSV have a row for every
/// message and local operation, JSON also the tables of chunks and the cost.
[[nodiscard]] std::string render(const Explanation& explanation, const OutputStyle& style);

}  // namespace lockstep::cli
