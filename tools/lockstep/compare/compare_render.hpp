#pragma once

#include "tools/app/compare/compare_steps.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// The difference of two steps as sections: uses of the critical path, changes, and with `details`
/// places. Rows of a section add up to the difference; data formats have all rows.
[[nodiscard]] Report compare_report(const CompareResult& result, bool details);

}  // namespace lockstep::cli
