#include "strategies/verification/as_simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/run_program/execute_program.hpp"
#include "sim/trace/memory/memory.hpp"
#include "strategies/step/simulate.hpp"

namespace lockstep {

namespace {

/// The first difference; empty: none.
[[nodiscard]] std::string difference(const AllocationUse& executed, const MemoryUse& accounted) {
  const std::size_t points = std::max(executed.curve.size(), accounted.curve.size());
  for (std::size_t i = 0; i < points; ++i) {
    if (i >= executed.curve.size() || i >= accounted.curve.size()) {
      return fmt::format("memory changes {} times where the account has {}", executed.curve.size(),
                         accounted.curve.size());
    }
    if (executed.curve[i] == accounted.curve[i]) continue;
    return fmt::format(
        "holds {} at {} where the account has {} at {}", to_string(executed.curve[i].held.total()),
        to_string(executed.curve[i].at - TimePoint{}), to_string(accounted.curve[i].held.total()),
        to_string(accounted.curve[i].at - TimePoint{}));
  }
  return executed.peak == accounted.peak.held ? "" : "has its peak elsewhere than the account";
}

/// What a rank allocated, compared with its account.
[[nodiscard]] std::string difference(const AllocationRecord& executed,
                                     const MemoryAccount& accounted) {
  const std::string device = difference(executed.device, accounted.device);
  return device.empty() ? difference(executed.host, accounted.host) : device;
}

/// Two executions of one program in different orders.
template <class Real>
[[nodiscard]] std::string difference(BasicProgramExecution<Real>& simulated,
                                     BasicProgramExecution<Real>& drawn, double tolerance) {
  const double loss = simulated.step();
  const double expected = drawn.step();
  if (!(std::abs(loss - expected) <= tolerance)) {
    return fmt::format("in simulated order the loss is {}, else {}", loss, expected);
  }
  const auto weights = simulated.weights();
  const auto others = drawn.weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t k = 0; k < weights[i].values->size(); ++k) {
      const double apart = std::abs(static_cast<double>((*weights[i].values)[k]) -
                                    static_cast<double>((*others[i].values)[k]));
      if (apart <= tolerance) continue;
      return fmt::format("in simulated order {} of block {} on rank {} differs by {:.3g}",
                         weights[i].copy, weights[i].position, weights[i].rank, apart);
    }
  }
  return "";
}

}  // namespace

template <class Real>
VerifiedOrder verify_as_simulated(std::shared_ptr<const Program> program,
                                  const ParallelConfig& parallel, const VerificationStage& stage,
                                  ExecutionOptions options, double tolerance) {
  SimulationOptions simulation;
  simulation.fidelity = Fidelity::all_ranks;
  simulation.fold = Folding::off;  // every rank is executed
  simulation.nccl_tuning = stage.nccl_tuning;
  const SimulatedTrainingStep step =
      simulate(program, parallel, stage.cluster, stage.device, *stage.cost, simulation);
  BasicProgramExecution<Real> drawn{*program, options};
  options.timeline = &step.timeline;
  BasicProgramExecution<Real> simulated{*program, options};
  VerifiedOrder out;
  out.operations = simulated.operations();
  out.problem = difference(simulated, drawn, tolerance);
  for (const RankTimeline& rank : step.timeline.ranks) {
    const MemoryAccount account = memory_account(step.timeline.roles[rank.role], rank);
    if (const Bytes peak = account.device.peak.held.total(); peak > out.peak) {
      out.peak = peak;
      out.fullest = rank.rank;
    }
    const std::string problem = difference(simulated.allocations(rank.rank), account);
    if (out.problem.empty() && !problem.empty()) {
      out.problem = fmt::format("rank {} {}", rank.rank, problem);
    }
  }
  return out;
}

template VerifiedOrder verify_as_simulated<float>(std::shared_ptr<const Program>,
                                                  const ParallelConfig&, const VerificationStage&,
                                                  ExecutionOptions, double);
template VerifiedOrder verify_as_simulated<double>(std::shared_ptr<const Program>,
                                                   const ParallelConfig&, const VerificationStage&,
                                                   ExecutionOptions, double);

}  // namespace lockstep
