#pragma once

#include <string>
#include <vector>

#include "sim/execute/schedule_checks/rounds.hpp"
#include "tools/app/explain/explain.hpp"
#include "tools/lockstep/explain/explain_words.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// The messages of a round, one per line: "rank 0 -> rank 1: chunk 0 (16 MiB), reduced". Messages
/// that differ only in sender or receiver share a line.
[[nodiscard]] std::vector<std::string> round_lines(const Round& round, const ExplainWords& words,
                                                   const RoundDetails& details);

}  // namespace lockstep::cli
