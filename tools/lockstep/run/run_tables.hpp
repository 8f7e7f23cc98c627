#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// A small table: the first column is text, the others are numbers with their units.
struct RunTable {
  std::vector<std::string> notes{};  // before it
  std::vector<std::string> headings{};
  std::vector<std::vector<std::string>> rows{};
  std::string footer{};                       // after it
  std::vector<std::size_t> left_out_first{};  // columns, on a narrow terminal
  /// headline, variants, step, breakdown, path, stages, memory, links or classes.
  std::string_view id{};
};

/// Hardware that cannot be used as it is given: "warning: NICs of 800 Gb/s ... are no faster than
/// 384 Gb/s", GPUs on the switch links of others.
[[nodiscard]] std::vector<std::string> hardware_warnings(const TrainingStepResult& result);

/// Headline, variants, step, breakdown of time, pipeline stages, memory, links.
[[nodiscard]] std::vector<RunTable> tables_of_run(const RunOptions& options,
                                                  const TrainingStepResult& result,
                                                  const std::vector<VariantResult>& variants);
/// Wraps notes and cells and omits columns to fit the width of `style`.
[[nodiscard]] std::string text_of(const std::vector<RunTable>& tables, const OutputStyle& style);
[[nodiscard]] std::string markdown_of(const std::vector<RunTable>& tables);

}  // namespace lockstep::cli
