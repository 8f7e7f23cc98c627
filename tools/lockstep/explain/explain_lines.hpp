#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/explain/explain_messages.hpp"

/// What the page and the JSON of `lockstep explain` have in common.
namespace lockstep::cli {

[[nodiscard]] const CollectiveAlgorithm& algorithm_of(const Explanation& explanation);
[[nodiscard]] ExplainWords words_of(const Explanation& explanation);
/// Heads of the rows of chunk tables; "..." for omitted ranks.
[[nodiscard]] std::vector<std::string> row_labels(const Explanation& explanation);

/// The messages of a round, at most as many lines as fit a page.
struct ShownLines {
  std::vector<std::string> lines;
  std::size_t left_out = 0;
};
[[nodiscard]] ShownLines lines_of(const Explanation& explanation, const Round& round);

}  // namespace lockstep::cli
