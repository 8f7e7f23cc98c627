#pragma once

#include <string>

#include "tools/lockstep/collective/collective_question.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// Measured times of nccl-tests beside simulated ones: every size of FILE, with every contestant.
/// The error is signed, simulated over measured less one; the mean is over the absolute errors.
/// Rows that nccl-tests itself found wrong are left out and counted. Throws ConfigError for what is
/// wrong with the file, UsageError where it is of another collective or number of ranks.
[[nodiscard]] Report run_against(const std::string& file, CollectiveQuestion question);

}  // namespace lockstep::cli
