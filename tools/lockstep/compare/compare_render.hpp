#pragma once

#include <string>

#include "tools/app/compare/compare_steps.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

struct CompareReportOptions {
  bool details = false;   // all uses, and time by stage and block
  std::string parts_a{};  // changes of GPUs, links and NICs as options; empty: none
  std::string parts_b{};
  bool classes = false;  // those of the ranks of both
};

/// The difference of two steps as sections: uses of the critical path, changes, and with `details`
/// places. Rows of a section add up to the difference; data formats have all rows.
[[nodiscard]] Report compare_report(const CompareResult& result,
                                    const CompareReportOptions& options);

/// The report, and after it tables of classes if asked for; CSV has none.
[[nodiscard]] std::string render_compare(const CompareResult& result,
                                         const CompareReportOptions& options,
                                         const OutputStyle& style);

}  // namespace lockstep::cli
