#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/layout/parallel_config.hpp"

namespace lockstep {

/// One pass of a stage over one microbatch and one model chunk.
struct PipelineStep {
  enum class Work : std::uint8_t {
    forward,
    backward,         // both gradients
    input_gradient,   // gradient of the input, which the previous stage waits for
    weight_gradient,  // gradient of the weights
  };
  Work work = Work::forward;
  int microbatch = 0;
  int chunk = 0;        // on this stage, 0 .. chunks - 1; model_chunk() is its number in the model
  bool paired = false;  // a forward pass that goes in turn with the backward pass after it

  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

/// A schedule and its size.
struct PipelineShape {
  PipelineOrder order = PipelineOrder::none;
  int stages = 1;
  int chunks = 1;  // per stage
  int microbatches = 1;
  int group = 0;       // as ParallelConfig::microbatch_group
  bool pairs = false;  // Overlap::ep_pairs
};
[[nodiscard]] PipelineShape pipeline_shape(const ParallelConfig& parallel);

/// Whether the second chunks go back through the stages, from the last to the first.
[[nodiscard]] constexpr bool is_v(PipelineOrder order) {
  return order >= PipelineOrder::zb_v;
}
/// Chunk of the model, in its order, that a stage has as its `chunk`-th, and the stage of a chunk
/// of the model.
[[nodiscard]] constexpr int model_chunk(PipelineOrder order, int stages, int stage, int chunk) {
  return is_v(order) && chunk == 1 ? 2 * stages - 1 - stage : chunk * stages + stage;
}
[[nodiscard]] constexpr int stage_of_chunk(PipelineOrder order, int stages, int model_chunk) {
  return is_v(order) && model_chunk >= stages ? 2 * stages - 1 - model_chunk : model_chunk % stages;
}

/// The passes of one stage, in order. naive: one microbatch at a time, forward and backward through
/// the whole pipeline. gpipe: all forward passes, then all backward passes. one_f_one_b:
/// PipeDream-flush. interleaved: Megatron-LM's, with several chunks. zb_h1, zb_h2: Qi et al., arXiv
/// 2401.10241, section 3, with equal forward_time, backward_time and weight_time; zb_1p, zb_2p: the
/// same with the activation memory of one and of two times one_f_one_b. zb_v, v_half, v_min: two
/// chunks in a V, with all, half and a third of that memory (pipeline_v.hpp); dualpipe_v:
/// DeepSeek's. With `pairs`, none, interleaved and dualpipe_v have pairs of a forward and a
/// backward pass of different microbatches: interleaved with one forward pass more before the first
/// of them (Megatron-Core pipeline_parallel/schedules.py, overlap_moe_expert_parallel_comm),
/// dualpipe_v those of its F&B (deepseek-ai/DualPipe dualpipe/dualpipev.py). With one stage,
/// backward is not split. Requires no pipeline_problem().
[[nodiscard]] std::vector<PipelineStep> pipeline_order(const PipelineShape& shape, int stage);

/// Why this schedule is impossible, and what would be possible; none if it is possible.
[[nodiscard]] std::optional<std::string> pipeline_problem(const PipelineShape& shape);

}  // namespace lockstep
