#pragma once

#include <string>
#include <vector>

#include "tools/app/collective/run_collective.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Notes of a result on changed links.
void add_link_changes(const CollectiveSetup& setup, Section& section);

/// Everything that led to a result, as JSON.
[[nodiscard]] std::string collective_config(const CollectiveRequest& request,
                                            const CollectiveSetup& setup,
                                            const std::vector<Candidate>& candidates);

/// Size, algorithm, time, busbw, share of the bound and what limits; with --wide and in data the
/// columns of nccl-tests, then bound, busiest link and folding. `classes`: of folded ranks, too.
[[nodiscard]] Report report_of(const CollectiveRequest& request, const CollectiveReport& done,
                               bool classes, const OutputStyle& style);

}  // namespace lockstep::cli
