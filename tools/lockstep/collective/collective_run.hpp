#pragma once

#include "tools/lockstep/collective/collective_question.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// The arena that a question's contestants need.
[[nodiscard]] Arena arena_for(const CollectiveQuestion& question);
/// The contestants that the arena allows. Throws UsageError naming all that it does not, unless
/// every row of the table was asked for: those are then named in `left_out`.
[[nodiscard]] std::vector<Contestant> allowed(const CollectiveQuestion& question,
                                              const Player& player,
                                              std::vector<std::string>& left_out);
/// Says with a result what --set-link and --fail have changed.
void add_link_changes(const Arena& arena, Section& section);
/// Everything that led to a result, as JSON.
[[nodiscard]] std::string config_of(const CollectiveQuestion& question, const Arena& arena,
                                    const std::vector<Contestant>& contestants);

/// Replays every contestant at every size. Throws UsageError where an algorithm cannot be had on
/// the cluster, Refusal where a replay cannot end or --check finds a wrong element.
[[nodiscard]] Report run_collective(const CollectiveQuestion& question);

}  // namespace lockstep::cli
