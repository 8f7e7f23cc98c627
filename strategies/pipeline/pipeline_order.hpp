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
  bool joined = false;  // a forward pass whose result is sent when the backward pass after it ends

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
  return order >= PipelineOrder::zb_v && order != PipelineOrder::dualpipe;
}
/// Whether half of the microbatches enter at the last stage and go through a second copy of the
/// model from there to the first.
[[nodiscard]] constexpr bool is_bidirectional(PipelineOrder order) {
  return order == PipelineOrder::dualpipe;
}
/// Chunks that a stage computes with; `chunks`: vpp.
[[nodiscard]] constexpr int chunks_of_stage(PipelineOrder order, int chunks) {
  return is_bidirectional(order) ? 2 : chunks;
}
/// Chunk of the model, in its order, that a stage has as its `chunk`-th, and the stage of a chunk
/// of the model. The second copy of a bidirectional pipeline is chunks `stages` and on.
[[nodiscard]] constexpr int model_chunk(PipelineOrder order, int stages, int stage, int chunk) {
  const bool back = is_v(order) || is_bidirectional(order);
  return back && chunk == 1 ? 2 * stages - 1 - stage : chunk * stages + stage;
}
[[nodiscard]] constexpr int stage_of_chunk(PipelineOrder order, int stages, int model_chunk) {
  const bool back = is_v(order) || is_bidirectional(order);
  return back && model_chunk >= stages ? 2 * stages - 1 - model_chunk : model_chunk % stages;
}
/// Whether a microbatch comes to a chunk of the model from the one before, or begins there.
[[nodiscard]] constexpr bool begins_model(PipelineOrder order, int stages, int model_chunk) {
  return model_chunk == 0 || (is_bidirectional(order) && model_chunk == stages);
}
/// Coordinate of a stage along the mesh axis pp, in which the two copies of a stage of a
/// bidirectional pipeline differ in the outer of two sub-axes alone (sharding/device_mesh.hpp).
[[nodiscard]] constexpr int place_of_stage(PipelineOrder order, int stages, int stage) {
  return is_bidirectional(order) && 2 * stage >= stages ? stages / 2 + stages - 1 - stage : stage;
}

/// The passes of one stage, in order. naive: one microbatch at a time, forward and backward through
/// the whole pipeline. gpipe: all forward passes, then all backward passes. one_f_one_b:
/// PipeDream-flush. interleaved: Megatron-LM's, with several chunks. zb_h1, zb_h2: Qi et al., arXiv
/// 2401.10241, section 3, with equal forward_time, backward_time and weight_time; zb_1p, zb_2p: the
/// same with the activation memory of one and of two times one_f_one_b. zb_v, v_half, v_min: two
/// chunks in a V, with all, half and a third of that memory (pipeline_v.hpp); dualpipe_v,
/// dualpipe: DeepSeek's. With `pairs`, none, interleaved and these two have pairs of a forward and
/// a backward pass of different microbatches: interleaved with one forward pass more before the
/// first of them (Megatron-Core pipeline_parallel/schedules.py, overlap_moe_expert_parallel_comm),
/// DeepSeek's those of their F&B (deepseek-ai/DualPipe dualpipe/dualpipev.py). With one stage,
/// backward is not split. Requires no pipeline_problem().
[[nodiscard]] std::vector<PipelineStep> pipeline_order(const PipelineShape& shape, int stage);

/// Why this schedule is impossible, and what would be possible; none if it is possible.
[[nodiscard]] std::optional<std::string> pipeline_problem(const PipelineShape& shape);

}  // namespace lockstep
