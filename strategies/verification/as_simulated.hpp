#pragma once

#include <memory>

#include "sim/execute/program/execution_options.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/verification/stage.hpp"
#include "strategies/verification/verification_report.hpp"

namespace lockstep {

/// Simulates all ranks of a step, executes it in the simulated order and checks that no operation
/// starts before its inputs exist, that every rank's memory matches its memory account at every
/// instant to the byte, and that loss and weights agree within `tolerance` with a drawn order.
/// Throws ExecutionError or ProgramStuck.
/// order. Errors: ExecutionError, ProgramStuck.
template <class Real>
[[nodiscard]] VerifiedOrder verify_as_simulated(std::shared_ptr<const Program> program,
                                                const ParallelConfig& parallel,
                                                const VerificationStage& stage,
                                                ExecutionOptions options, double tolerance);

}  // namespace lockstep
