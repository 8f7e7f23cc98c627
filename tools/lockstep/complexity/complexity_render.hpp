#pragma once

#include <string>

#include "tools/app/complexity/complexity.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Text for stdout: one row per algorithm with its growth or, if `measured`, one per algorithm and
/// rank count with its measurements. JSON contains both.
[[nodiscard]] std::string render(const ComplexityRequest& request, const ComplexityResult& result,
                                 bool measured, const OutputStyle& style);

}  // namespace lockstep::cli
