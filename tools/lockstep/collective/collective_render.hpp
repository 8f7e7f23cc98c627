#pragma once

#include <string>
#include <vector>

#include "tools/app/collective/run_collective.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// "ring: needs 4 ranks": a candidate that the cluster does not allow.
[[nodiscard]] std::string text_of_left_out(const RequestProblem& problem);

/// Notes of a result on changed links.
void add_link_changes(const CollectiveSetup& setup, Section& section);

/// The resolved configuration of a result, as JSON.
[[nodiscard]] std::string collective_config(const CollectiveRequest& request,
                                            const CollectiveSetup& setup,
                                            const std::vector<Candidate>& candidates);

/// Columns: size, algorithm, time, busbw, percentage of the bound and limit; with --wide and in
/// data formats also those of nccl-tests, bound, busiest link and folding. `classes`: also list the
/// classes of folded ranks.
[[nodiscard]] Report report_of(const CollectiveRequest& request, const CollectiveReport& done,
                               bool classes, const OutputStyle& style);

}  // namespace lockstep::cli
