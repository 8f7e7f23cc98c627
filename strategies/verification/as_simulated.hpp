#pragma once

#include <memory>

#include "sim/execute/program/execution_options.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/verification/stage.hpp"
#include "strategies/verification/verification_report.hpp"

namespace lockstep {

/// Simulates a step, every rank of it, executes it in that very order, and compares: no operation
/// starts before its inputs exist; every rank holds what its memory account says, at every instant
/// and to the byte; and loss and weights are, within `tolerance`, those of the step in a drawn
/// order. Errors: ExecutionError, ProgramStuck.
template <class Real>
[[nodiscard]] VerifiedOrder verify_as_simulated(std::shared_ptr<const Program> program,
                                                const ParallelConfig& parallel,
                                                const VerificationStage& stage,
                                                ExecutionOptions options, double tolerance);

}  // namespace lockstep
