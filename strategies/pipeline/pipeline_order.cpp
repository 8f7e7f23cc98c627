#include "strategies/pipeline/pipeline_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/base/check.hpp"
#include "strategies/pipeline/pipeline_interleaved.hpp"
#include "strategies/pipeline/pipeline_v.hpp"
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

/// Each forward pass with the backward pass right after it.
std::vector<PipelineStep> in_pairs(std::vector<PipelineStep> steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    PipelineStep& forward = steps[i - 1];
    const PipelineStep& backward = steps[i];
    forward.paired = forward.work == Work::forward && backward.work == Work::backward &&
                     forward.microbatch != backward.microbatch;
  }
  return steps;
}

/// Where the warm-up takes all forward passes, as on early stages with few microbatches, there is
/// no pair: the first backward pass waits for later stages, which wait for the last forward pass.
std::vector<PipelineStep> interleaved(const PipelineShape& shape, int stage) {
  const auto& [order, stages, chunks, microbatches, given, pairs] = shape;
  const int group = given > 0 ? given : stages;
  const int more = pairs ? 1 : 0;
  std::vector<PipelineStep> steps =
      interleaved_order(stages, stage, chunks, microbatches, group, more);
  const bool all = interleaved_warm_up(stages, stage, chunks, group, more) >= chunks * microbatches;
  return pairs && !all ? in_pairs(std::move(steps)) : steps;
}

/// Groups of microbatches of an interleaved schedule, as Megatron-Core takes them (schedules.py,
/// forward_backward_pipelining_with_interleaving).
std::optional<std::string> group_problem(const PipelineShape& of) {
  const int group = of.group > 0 ? of.group : of.stages;
  if (of.microbatches < of.stages) {
    return fmt::format("interleaved needs at least as many microbatches as stages, {}, not {}",
                       of.stages, of.microbatches);
  }
  if (group < of.stages || group > of.microbatches) {
    return fmt::format(
        "microbatch_group = {} is not between pp = {} and the number of microbatches, {}", group,
        of.stages, of.microbatches);
  }
  const int rest = of.microbatches % group;
  if (rest == 0 || rest >= of.stages) return std::nullopt;
  std::string fitting;
  for (int other = of.stages; other <= of.microbatches && fitting.empty(); ++other)
    if (of.microbatches % other == 0 || of.microbatches % other >= of.stages)
      fitting = fmt::format(": microbatch_group = {} would", other);
  return fmt::format(
      "interleaved takes {} microbatches in groups of {}: the last has {}, fewer than the {} "
      "stages, "
      "which none may{}",
      of.microbatches, group, rest, of.stages, fitting);
}

std::optional<std::string> interleaved_problem(const PipelineShape& of) {
  if (of.stages < 2)
    return "interleaved needs at least 2 stages (pp); with one stage the schedule is none";
  if (of.chunks < 2)
    return "interleaved needs at least 2 chunks a stage (vpp); with one the schedule is 1f1b";
  return group_problem(of);
}

std::optional<std::string> v_problem(const PipelineShape& of) {
  if (of.stages < 2) return "two chunks in a V need at least 2 stages (pp)";
  if (of.chunks != 2) return fmt::format("two chunks in a V: vpp is 2, not {}", of.chunks);
  if (of.order == PipelineOrder::dualpipe_v && of.microbatches < 2 * of.stages) {
    return fmt::format("dualpipe-v needs at least 2 pp = {} microbatches, not {}", 2 * of.stages,
                       of.microbatches);
  }
  return std::nullopt;
}

std::optional<std::string> dualpipe_problem(const PipelineShape& of) {
  if (of.stages < 2) return "dualpipe needs at least 2 stages (pp)";
  if (of.stages % 2 != 0) {
    return fmt::format(
        "dualpipe pairs stages from both ends: pp is even, not {}; dualpipe-v may "
        "have any",
        of.stages);
  }
  if (of.chunks != 1) {
    return fmt::format(
        "dualpipe has one chunk of each of two copies of the model a stage: vpp is 1, not {}",
        of.chunks);
  }
  if (of.microbatches % 2 != 0) {
    return fmt::format("dualpipe has as many microbatches from each end: an even number, not {}",
                       of.microbatches);
  }
  if (of.microbatches < 2 * of.stages) {
    return fmt::format("dualpipe needs at least 2 pp = {} microbatches, not {}", 2 * of.stages,
                       of.microbatches);
  }
  return std::nullopt;
}

}  // namespace

PipelineShape pipeline_shape(const ParallelConfig& parallel) {
  return {parallel.schedule,
          parallel.pp,
          parallel.vpp,
          static_cast<int>(parallel.microbatches()),
          parallel.microbatch_group,
          parallel.ep > 1 && parallel.overlaps(Overlap::ep_pairs)};
}

std::vector<PipelineStep> pipeline_order(const PipelineShape& shape, int stage) {
  LOCKSTEP_CHECK(!pipeline_problem(shape));
  LOCKSTEP_CHECK(stage >= 0 && stage < shape.stages);
  const auto& [order, stages, chunks, microbatches, group, pairs] = shape;
  const int later = stages - 1 - stage;
  const bool split = order >= PipelineOrder::zb_h1;
  if (split && stages == 1) return one_by_one(microbatches);  // no stage waits for a half
  switch (order) {
    case PipelineOrder::none:
      return pairs ? in_pairs(in_turn(microbatches, 1)) : one_by_one(microbatches);
    case PipelineOrder::naive:
      return one_by_one(microbatches);
    case PipelineOrder::gpipe:
      return in_turn(microbatches, microbatches);
    case PipelineOrder::one_f_one_b:
      return in_turn(microbatches, later);
    case PipelineOrder::interleaved:
      return interleaved(shape, stage);
    case PipelineOrder::zb_h1:
      return handcrafted_zero_bubble(microbatches, later, stages);
    case PipelineOrder::zb_h2:
      return handcrafted_zero_bubble(microbatches, 2 * later, 2 * stages - 1);
    case PipelineOrder::zb_1p:
      return greedy_zero_bubble(stages, stage, microbatches, stages);
    case PipelineOrder::zb_2p:
      return greedy_zero_bubble(stages, stage, microbatches, 2 * stages);
    case PipelineOrder::zb_v:
    case PipelineOrder::v_half:
    case PipelineOrder::v_min:
      return v_order(order, stages, stage, microbatches);
    case PipelineOrder::dualpipe_v:
      return dualpipe_v_order(stages, stage, microbatches, pairs);
    case PipelineOrder::dualpipe:
      return dualpipe_order(stages, stage, microbatches, pairs);
  }
  LOCKSTEP_CHECK(false);
}

std::optional<std::string> pipeline_problem(const PipelineShape& shape) {
  if (shape.microbatches < 1) return "a pipeline needs at least one microbatch";
  if (shape.order == PipelineOrder::none && shape.stages > 1) {
    return fmt::format("{} stages need a schedule: {}", shape.stages,
                       "naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-1p, zb-2p, zb-v, v-half, "
                       "v-min, dualpipe-v or dualpipe");
  }
  if (shape.order == PipelineOrder::interleaved) return interleaved_problem(shape);
  if (is_v(shape.order)) return v_problem(shape);
  if (is_bidirectional(shape.order)) return dualpipe_problem(shape);
  if (shape.chunks > 1) {
    return fmt::format(
        "{} chunks a stage (vpp) need the schedule interleaved, or, if two, zb-v, v-half, v-min or "
        "dualpipe-v; others have 1",
        shape.chunks);
  }
  return std::nullopt;
}

}  // namespace lockstep
