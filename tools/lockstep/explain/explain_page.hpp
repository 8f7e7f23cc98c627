#pragma once

#include <string>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// The explanation as tables or Markdown, in the order in which it is read: algorithm, rounds,
/// cost.
[[nodiscard]] std::string render_page(const Explanation& explanation, const OutputStyle& style);

}  // namespace lockstep::cli
