#pragma once

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Activation recomputation: adds a second forward pass for backward to read; tensors of the first
/// are freed after forward.
/// full: the whole forward of every block with an input, communication included (Chen et al., arXiv
/// 1604.06174); with `stops_early`, up to the last tensor that backward reads
/// selective: core attention only (Korthikanti et al., arXiv 2205.05198): scores, softmax, dropout;
/// nothing with fused attention
/// Blocks without a residual input (embedding) and the head, whose backward follows at once, are
/// unchanged.
void recompute(ModelGraph& graph, Recompute how, bool stops_early = false);

}  // namespace lockstep
