#pragma once

#include <string>

#include "tools/app/complexity/complexity.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Data for stdout: a row per algorithm with its growth, or, where `measured`, a row per algorithm
/// and number of ranks with what was measured. JSON has the measurements next to the rows.
[[nodiscard]] std::string render(const ComplexityRequest& request, const ComplexityResult& result,
                                 bool measured, const OutputStyle& style);

}  // namespace lockstep::cli
