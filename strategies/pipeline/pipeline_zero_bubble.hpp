#pragma once

#include <vector>

#include "strategies/pipeline/pipeline_order.hpp"

/// Zero-bubble schedules split backward: the previous stage waits only for the gradient of the
/// input (B), so the gradient of the weights (W) fills bubbles. Activations of a microbatch are
/// held from its forward pass (F) to its W.
/// Source: Qi, Wan, Huang, Lin: Zero Bubble Pipeline Parallelism, arXiv 2401.10241.
namespace lockstep {

/// `warm_up` forward passes, then F and B alternate, with a W whenever `held` microbatches are held
/// and another F is due; after the last F, B and W alternate.
/// ZB-H1 (section 2.1): warm_up stages - 1 - stage, held = stages.
/// ZB-H2 (section 2.2): warm_up 2 (stages - 1 - stage), held = 2 stages - 1.
[[nodiscard]] std::vector<PipelineStep> handcrafted_zero_bubble(int microbatches, int warm_up,
                                                                int held);

/// The paper's heuristic (section 3.1) for F, B and W of equal length: a stage runs what is ready,
/// W only if neither F nor B is, and holds at most `held` microbatches. Tries four variants (B
/// before F or alternating; W or B first at the memory limit) and returns the one with the least
/// idle time, the first on ties.
[[nodiscard]] std::vector<PipelineStep> greedy_zero_bubble(int stages, int stage, int microbatches,
                                                           int held);

}  // namespace lockstep
