#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"
#include "tools/app/step/metrics/step_limits.hpp"

namespace lockstep::app {

/// A pipeline of equal stages with given times.
struct PipelineChartRequest {
  PipelineOrder order = PipelineOrder::one_f_one_b;
  int stages = 4;
  int microbatches = 8;
  int chunks = 1;  // model chunks per stage; above 1 only for interleaved
  // Times of one microbatch on a whole stage; a chunk takes its share.
  Duration forward;
  Duration backward;  // gradient of the input
  Duration weight;    // gradient of the weights
  Duration send;      // from a stage to another
};

/// A pass of a stage.
struct PipelineSpan {
  PipelineStep step;
  TimePoint start;
  TimePoint end;
};

/// Activations that a stage holds from this instant on, in those of one microbatch on a whole
/// stage, times `chunks`.
struct HeldActivations {
  TimePoint at;
  int chunks = 0;
};

struct PipelineStage {
  std::vector<PipelineSpan> spans;
  std::vector<HeldActivations> held;
  int most_held = 0;  // maximum of `held`
  Duration idle;      // of the step
};

struct PipelineChart {
  PipelineChartRequest request;
  std::vector<PipelineStage> stages;
  Duration step;
  Duration ideal;                          // passes of one stage, without idling
  double bubble = 0;                       // idle time of a stage over `ideal`
  std::optional<BubbleFormula> formula{};  // of equal times, without sends
};

/// Every pass of every stage, each started as early as its stage's order and its inputs allow.
/// Throws RequestError for an impossible schedule.
[[nodiscard]] PipelineChart chart_pipeline(const PipelineChartRequest& request);

}  // namespace lockstep::app
