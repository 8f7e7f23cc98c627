#include "tools/app/campaign/slow_step.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace lockstep::app {

namespace {

/// The share of the critical path that a slower GPU stretches.
[[nodiscard]] double computation_share(const TrainingStepResult& step) {
  for (const TrainingStepLimit& limit : step.limits)
    if (limit.use.kind == TimeUse::Kind::computation) return limit.share;
  return 1;
}

[[nodiscard]] bool is_changed(const TrainingStepRequest& request) {
  return !request.simulation.speeds.empty() || !request.speeds.empty() || request.links.any() ||
         request.nic;
}

[[nodiscard]] int busiest_stage(const TrainingStepResult& step) {
  const auto& stages = step.summary.stages;
  if (static_cast<int>(stages.size()) != step.scenario.parallel.pp) return 0;
  const auto busiest =
      std::ranges::min_element(stages, {}, [](const StageUse& stage) { return stage.rank.bubble; });
  return static_cast<int>(busiest - stages.begin());
}

}  // namespace

int first_rank_of_stage(const ParallelConfig& parallel, int stage) {
  int stride = 1;
  for (const std::string& axis : parallel.order) {
    if (axis == "pp") break;
    stride *= axis == "tp" ? parallel.tp : axis == "cp" ? parallel.cp : parallel.dp;
  }
  return stride * stage;
}

SlowGpuEffect slow_step(const TrainingStepRequest& request, const TrainingStepResult& step,
                        double slowdown) {
  SlowGpuEffect out{slowdown, computation_share(step) * (slowdown - 1), std::nullopt};
  if (slowdown <= 1) return out;
  const int rank = first_rank_of_stage(step.scenario.parallel, busiest_stage(step));
  TrainingStepRequest slow = request;
  slow.speeds.clear();  // they are among those of the simulation
  slow.simulation.speeds = step.options.speeds;
  slow.simulation.speeds[rank].speed /= slowdown;
  // Its baseline is the plain step at the same fidelity, unless the request changes other things.
  slow.step_only = is_changed(request);
  try {
    const TrainingStepResult found = run_step(slow);
    const bool alike = found.step.fidelity == step.step.fidelity;
    if (!alike && !found.baseline) return out;
    const double plain = alike ? step.throughput.step_s : found.baseline->step.seconds();
    out.longer = std::max(0.0, found.throughput.step_s / plain - 1);
    out.rank = rank;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal || error.code() == ErrorCode::io) throw;
  }
  return out;
}

}  // namespace lockstep::app
