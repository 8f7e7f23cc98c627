#pragma once

#include "strategies/models/block_builder.hpp"

namespace lockstep {

/// Writes block.backward by reverse-mode differentiation of block.forward. Gradients of weights are
/// written to GraphBuilder::gradient_of_weight, that of the incoming stream to
/// block.input_gradient; if that is empty, no gradient that only the stream needs is computed. With
/// several uses of a tensor, GEMMs fused under one number accumulate into one gradient tensor;
/// other contributions get tensors of their own and an `add`, so that after sharding a gradient
/// tensor never has producers with different placements. `last_fused`: the highest fused number in
/// forward.
/// InternalError for operations without a derivative.
void differentiate(GraphBuilder& graph, Block& block, int last_fused);

}  // namespace lockstep
