#pragma once

#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Activation recomputation: backward works on what a second forward pass leaves, and the first
/// one's tensors are gone once forward has read them.
///   full: the whole forward of every block with an input, from its input on (Chen et al., arXiv
///   1604.06174); communication is done again too; where it `stops_early`, up to the last tensor
///   that backward reads
///   selective: the core of attention alone (Korthikanti et al., arXiv 2205.05198): scores,
///   softmax, dropout; with fused attention there is nothing to do again
/// Blocks without a residual input (the embedding) and the head, whose backward follows at once,
/// are left as they are.
void recompute(ModelGraph& graph, Recompute how, bool stops_early = false);

}  // namespace lockstep
