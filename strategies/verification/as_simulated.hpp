#pragma once

#include <filesystem>
#include <memory>

#include "sim/execute/host/program/execution_options.hpp"
#include "strategies/parallel/parallel_config.hpp"
#include "strategies/verification/verification_report.hpp"

namespace lockstep {

/// Simulates a step with every rank on a switch of its own, executes it in that very order, and
/// compares: no operation starts before its inputs exist, and every rank holds what its memory
/// account says, at every instant and to the byte. `loss`: of the first step, which must come out
/// again within `tolerance`. Errors: ExecutionError, ProgramStuck.
[[nodiscard]] VerifiedOrder verify_as_simulated(std::shared_ptr<const Program> program,
                                                const ParallelConfig& parallel,
                                                ExecutionOptions options,
                                                const std::filesystem::path& nccl_tuning,
                                                const VerifiedStep& first, double tolerance);

}  // namespace lockstep
