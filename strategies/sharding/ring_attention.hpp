#pragma once

#include "sim/program/mesh.hpp"
#include "strategies/layout/training_step_assembly.hpp"

namespace lockstep {

/// Ring attention (Liu et al., arXiv 2310.01889) on a graph after propagate_sharding(). Keys and
/// values circulate; every rank attends to one block per ring step and combines the results with a
/// running softmax. In backward, gradients of keys and values circulate with them back to their
/// owner. Communication of the next block overlaps with attention to the current one. With
/// `zigzag`, rank r of n holds the 2n-ths r and 2n-1-r of the sequence (Brandon et al., arXiv
/// 2311.09431), which balances causal attention.
void ring_attention(ModelGraph& graph, const Mesh& mesh, bool zigzag);

/// Cuts every sequence that is cut along `atoms` in zigzag.
void cut_zigzag(ModelGraph& graph, const MeshSubAxes& atoms);
/// Whether the layout does so: for causal attention, unless its `zigzag` is false.
[[nodiscard]] bool cuts_zigzag(const TrainingStepAssembly& step);

}  // namespace lockstep
