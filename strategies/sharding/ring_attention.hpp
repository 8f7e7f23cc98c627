#pragma once

#include "sim/program/mesh.hpp"
#include "strategies/layout/training_step_assembly.hpp"

namespace lockstep {

/// Ring attention (Liu et al., arXiv 2310.01889) on a graph after propagate_sharding(). Keys and
/// values circulate; every rank attends to one block per ring step and combines the results with a
/// running softmax. Backward begins with keys that came in forward, so that a rank's own come last,
/// with the sum of their gradients: of n ranks each sends n - 1 blocks of keys and values in each
/// pass, and n - 1 of their gradients. These are added up after a block's attention, which need not
/// wait for them (NVIDIA TransformerEngine, pytorch/attention/dot_product_attention/
/// context_parallel.py, AttnFuncWithCPAndKVP2P, whose backward turns the other way round: it
/// begins with the keys that came last). Communication of the next block overlaps with attention
/// to the current one. With `zigzag`, rank r of n holds the 2n-ths r and 2n-1-r of the sequence
/// (Brandon et al., arXiv 2311.09431), which balances causal attention. Where scores are stored, as
/// with relative positions, ring self-attention (Li et al., arXiv 2105.13120, section 3.2): keys
/// circulate for whole rows of scores, and values for what follows, each again in backward with the
/// sum of their gradients.
void ring_attention(ModelGraph& graph, const Mesh& mesh, bool zigzag);

/// Cuts every sequence that is cut along `atoms` in zigzag.
void cut_zigzag(ModelGraph& graph, const MeshSubAxes& atoms);
/// Whether the layout does so: for causal attention, unless its `zigzag` is false.
[[nodiscard]] bool cuts_zigzag(const TrainingStepAssembly& step);

}  // namespace lockstep
