#pragma once

#include <set>

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Activation recomputation: adds a second forward pass for backward to read; tensors of the first
/// are freed after forward.
/// full: the whole forward of every block with an input, communication included (Chen et al., arXiv
/// 1604.06174); with `stops_early`, up to the last tensor that backward reads
/// selective: `modules` of layers (pipeline/recomputed_modules.hpp), each right before backward
/// first reads what it makes; with core_attn alone core attention (Korthikanti et al., arXiv
/// 2205.05198): scores, softmax, dropout, context; nothing with fused attention
/// Blocks without a residual input (embedding) and the head, whose backward follows at once, are
/// unchanged, but for modules in the head's layers of multi-token prediction.
void recompute(ModelGraph& graph, Recompute how,
               const std::set<RecomputeModule>& modules = ParallelConfig{}.recompute_modules,
               bool stops_early = false);

}  // namespace lockstep
