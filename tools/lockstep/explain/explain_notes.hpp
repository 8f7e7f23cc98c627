#pragma once

#include <string>
#include <vector>

#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// What is omitted and how to see it, a line each; empty if nothing is.
[[nodiscard]] std::vector<std::string> notes_of(const Explanation& explanation);

/// "result verified: every rank holds what all_reduce requires".
[[nodiscard]] std::string verdict_of(const Explanation& explanation);

}  // namespace lockstep::cli
