#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

/// Zero-bubble pipelines: the backward pass in two halves, of which the stage before waits only for
/// the gradient of the input (B); the gradient of the weights (W) fills idle time. Activations of a
/// microbatch are held from its forward pass (F) to its W.
/// Source: Qi, Wan, Huang, Lin: Zero Bubble Pipeline Parallelism, arXiv 2401.10241.
namespace lockstep {

/// `warm_up` forward passes, then F and B in turn; a W whenever as many as `held` microbatches are
/// held and a further F is due; B and W in turn where no F is left.
/// ZB-H1 (section 2.1): warm_up stages - 1 - stage, held = stages.
/// ZB-H2 (section 2.2): warm_up 2 (stages - 1 - stage), held = 2 stages - 1.
[[nodiscard]] std::vector<PipelineStep> handcrafted_zero_bubble(int microbatches, int warm_up,
                                                                int held);

/// The paper's heuristic (section 3.1) for F, B and W of equal length: every stage does what is
/// ready, W only where neither F nor B can begin, never holding more than `held` microbatches. Of
/// the variants with B before F or in turn, and with W or B first where memory is full, the one
/// with the least idle time is taken (ties: the first).
[[nodiscard]] std::vector<PipelineStep> greedy_zero_bubble(int stages, int stage, int microbatches,
                                                           int held);

}  // namespace lockstep
