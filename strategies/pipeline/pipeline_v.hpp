#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

/// Schedules of two model chunks per stage in a V: the second chunks go back through the stages, so
/// the first stage has the first and the last chunk of the model, and activations of a microbatch
/// are held equally long on all stages. Backward is split into B and W, as in
/// pipeline_zero_bubble.hpp.
namespace lockstep {

/// zb_v, v_half, v_min: F and B of both chunks in the order of a building block that repeats every
/// six passes, W where a stage has nothing else to do or holds as many activations as the block
/// does. The time between a pass on one stage and the next stage's makes the kind: between stages
/// all activations together are held for D = 6 (zb_v), 3 (v_half) or 2 (v_min) passes, so the
/// stages hold D / 6 of what 1F1B's first stage holds, and a few chunks. Source: Qi, Wan, Amar,
/// Lin: Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3; ZB-V: Qi et
/// al., arXiv 2401.10241, section 6.
[[nodiscard]] std::vector<PipelineStep> v_order(PipelineOrder order, int stages, int stage,
                                                int microbatches);

/// DualPipeV, of at least 2 * stages microbatches: one half of DeepSeek's DualPipe folded onto the
/// other. Passes that DeepSeek overlaps stand one after the other.
/// Source: deepseek-ai/DualPipe, dualpipe/dualpipev.py.
[[nodiscard]] std::vector<PipelineStep> dualpipe_v_order(int stages, int stage, int microbatches,
                                                         bool pairs = false);

/// DualPipe, of an even number of stages and of at least 2 * stages microbatches, an even number:
/// the first half of them goes through a first copy of the model from the first stage to the last,
/// the second half through a second copy from the last to the first. The stages from both ends to
/// the middle do what those of DualPipeV do, half as many, with the chunk of the microbatches that
/// enter at their end and that of the others.
/// Source: deepseek-ai/DualPipe, dualpipe/dualpipe.py; DeepSeek-V3, arXiv 2412.19437,
/// section 3.2.1.
[[nodiscard]] std::vector<PipelineStep> dualpipe_order(int stages, int stage, int microbatches,
                                                       bool pairs = false);

}  // namespace lockstep
