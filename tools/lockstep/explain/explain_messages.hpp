#pragma once

#include <string>
#include <vector>

#include "sim/execute/schedule_checks/rounds.hpp"
#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/explain/explain_words.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// A round in words, a line each: "rank 0 -> rank 1: chunk 0 (16 MiB), added". Messages that differ
/// in their receiver or their sender alone share a line.
[[nodiscard]] std::vector<std::string> round_lines(const Round& round, const ExplainWords& words,
                                                   const RoundDetails& details);

}  // namespace lockstep::cli
