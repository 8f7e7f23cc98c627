#include "strategies/pipeline/pipeline_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/base/check.hpp"
#include "strategies/pipeline/pipeline_interleaved.hpp"
#include "strategies/pipeline/pipeline_zero_bubble.hpp"

namespace lockstep {
namespace {

using Work = PipelineStep::Work;

std::vector<PipelineStep> one_by_one(int microbatches) {
  std::vector<PipelineStep> steps;
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    steps.push_back({Work::forward, microbatch, 0});
    steps.push_back({Work::backward, microbatch, 0});
  }
  return steps;
}

/// `warm_up` forward passes, then forward and backward in turn, then what is left.
std::vector<PipelineStep> in_turn(int microbatches, int warm_up) {
  std::vector<PipelineStep> steps;
  for (int k = 0; k < std::min(warm_up, microbatches); ++k) steps.push_back({Work::forward, k, 0});
  for (int k = 0; k < microbatches; ++k) {
    if (k + warm_up < microbatches) steps.push_back({Work::forward, k + warm_up, 0});
    steps.push_back({Work::backward, k, 0});
  }
  return steps;
}

}  // namespace

std::vector<PipelineStep> pipeline_order(PipelineOrder order, int stages, int stage, int chunks,
                                         int microbatches) {
  LOCKSTEP_CHECK(!pipeline_problem(order, stages, chunks, microbatches));
  LOCKSTEP_CHECK(stage >= 0 && stage < stages);
  const int later = stages - 1 - stage;
  const bool split = order >= PipelineOrder::zb_h1;
  if (split && stages == 1) return one_by_one(microbatches);  // no stage waits for a half
  switch (order) {
    case PipelineOrder::none:
    case PipelineOrder::naive:
      return one_by_one(microbatches);
    case PipelineOrder::gpipe:
      return in_turn(microbatches, microbatches);
    case PipelineOrder::one_f_one_b:
      return in_turn(microbatches, later);
    case PipelineOrder::interleaved:
      return interleaved_order(stages, stage, chunks, microbatches);
    case PipelineOrder::zb_h1:
      return handcrafted_zero_bubble(microbatches, later, stages);
    case PipelineOrder::zb_h2:
      return handcrafted_zero_bubble(microbatches, 2 * later, 2 * stages - 1);
    case PipelineOrder::zb_1p:
      return greedy_zero_bubble(stages, stage, microbatches, stages);
    case PipelineOrder::zb_2p:
      return greedy_zero_bubble(stages, stage, microbatches, 2 * stages);
  }
  LOCKSTEP_CHECK(false);
}

std::optional<std::string> pipeline_problem(PipelineOrder order, int stages, int chunks,
                                            int microbatches) {
  if (microbatches < 1) return "a pipeline needs at least one microbatch";
  if (order == PipelineOrder::none && stages > 1) {
    return fmt::format(
        "{} stages need a schedule: naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-1p or zb-2p",
        stages);
  }
  if (order == PipelineOrder::interleaved && stages < 2) {
    return "interleaved needs at least 2 stages (pp); with one stage the schedule is none";
  }
  if (order == PipelineOrder::interleaved && chunks < 2) {
    return "interleaved needs at least 2 chunks a stage (vpp); with one the schedule is 1f1b";
  }
  if (order == PipelineOrder::interleaved && microbatches % stages != 0) {
    const int below = microbatches / stages * stages;
    return fmt::format(
        "interleaved needs microbatches in multiples of pp; of {} stages {}, not {}", stages,
        below == 0 ? std::to_string(stages) : fmt::format("{} or {}", below, below + stages),
        microbatches);
  }
  if (order != PipelineOrder::interleaved && chunks > 1) {
    return fmt::format("{} chunks a stage (vpp) need the schedule interleaved; others have 1",
                       chunks);
  }
  return std::nullopt;
}

}  // namespace lockstep
