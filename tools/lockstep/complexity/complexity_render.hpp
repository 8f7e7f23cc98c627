#pragma once

#include <string>

#include "tools/app/complexity/complexity.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// One row per algorithm with its growth or, if `measured`, one per algorithm and rank count with
/// its measurements.
[[nodiscard]] Report report_of(const ComplexityRequest& request, const ComplexityResult& result,
                               bool measured);

/// "star (host), network fluid, routes auto"; empty if nothing was measured.
[[nodiscard]] std::string cluster_text(const ComplexityResult& result);

/// Text for stdout: the report; JSON contains growth and measurements.
[[nodiscard]] std::string render(const ComplexityRequest& request, const ComplexityResult& result,
                                 bool measured, const OutputStyle& style);

}  // namespace lockstep::cli
