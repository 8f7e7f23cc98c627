#pragma once

#include <string>

#include "tools/app/sensitivity/find_value.hpp"
#include "tools/app/sensitivity/sensitivity.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// JSON and CSV have one table of all; else figures, layout and spreads have one each. `ranges`:
/// whether they were searched; `parts`: changes of GPUs, links and NICs as options.
[[nodiscard]] std::string render_sensitivity(const SensitivityResult& result,
                                             const std::string& parts, bool ranges,
                                             const OutputStyle& style);

/// All tables as one, without figures that have no effect.
[[nodiscard]] Report sensitivity_report(const SensitivityResult& result, const std::string& parts,
                                        bool ranges);

/// `condition`: as written.
[[nodiscard]] Report found_value_report(const FoundValue& found, const std::string& parts,
                                        const std::string& condition);

}  // namespace lockstep::cli
