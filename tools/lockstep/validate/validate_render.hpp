#pragma once

#include <string>

#include "strategies/measure/validation/summary.hpp"
#include "tools/app/validate/validate.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Text for stdout. Tables: groups and overall, the worst rows (`every_row`: all), rows left out.
/// JSON: schema, tool, config, seed, fingerprint, rows, groups, overall, not_modeled. CSV: rows.
[[nodiscard]] std::string render_validation(const ValidateRequest& request,
                                            const ValidateResult& result, const OutputStyle& style,
                                            bool every_row);

}  // namespace lockstep::cli
