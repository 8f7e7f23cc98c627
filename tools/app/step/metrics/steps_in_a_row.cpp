#include "tools/app/step/metrics/steps_in_a_row.hpp"

#include "sim/trace/step_period.hpp"

namespace lockstep::app {

std::optional<Duration> time_in_a_row(const ParallelConfig& parallel,
                                      const TrainingStepTimeline& timeline) {
  const PipelineOrder order = parallel.schedule;
  const bool zero_bubble = order >= PipelineOrder::zb_h1 && order <= PipelineOrder::v_min;
  if (parallel.pp == 1 || !zero_bubble) return std::nullopt;
  return step_period(timeline);
}

}  // namespace lockstep::app
