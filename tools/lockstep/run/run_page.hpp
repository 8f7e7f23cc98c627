#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/lockstep/report/html_page.hpp"
#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/run/run_options.hpp"
#include "tools/lockstep/run/run_tables.hpp"

namespace lockstep::cli {

/// A training step as a page: headline with the critical path and the suggestions, then where the
/// time goes, the pipeline, memory and links, each as a figure and as a table. `budget`: bytes of
/// all but the script; the data of the timeline is thinned to keep it.
[[nodiscard]] std::string run_page(const RunOptions& options, const TrainingStepResult& result,
                                   const std::vector<VariantResult>& variants,
                                   std::size_t budget = kPageBudget);

/// A table of a step on a page; its first note is the caption.
[[nodiscard]] HtmlTable html_table_of(const RunTable& table);

}  // namespace lockstep::cli
