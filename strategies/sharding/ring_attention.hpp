#pragma once

#include "sim/program/mesh.hpp"
#include "strategies/models/model_graph.hpp"

namespace lockstep {

/// Ring attention (Liu et al., arXiv 2310.01889) on a graph that has been laid out: every rank
/// attends to its own keys and values, passes them on, and attends to those that come, as often as
/// the ring has members, adding up with a running softmax. Backward the gradients of keys and
/// values travel along and come home. Communication of the next part runs during the attention to
/// this one. With `zigzag`, part r of n holds the 2n-ths r and 2n-1-r of the sequence (Brandon et
/// al., arXiv 2311.09431), so that causal attention costs every rank the same.
void ring_attention(ModelGraph& graph, const Mesh& mesh, bool zigzag);

}  // namespace lockstep
