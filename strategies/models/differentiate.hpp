#pragma once

#include "strategies/models/block_builder.hpp"

namespace lockstep {

/// Writes block.backward by reverse differentiation of block.forward: operations from the last to
/// the first, each turned into those that give the gradients of what it read. Gradients of weights
/// go to GraphBuilder::gradient_of_weight, that of the incoming stream to block.input_gradient
/// (where that is empty none is computed, nor of anything that only depends on the stream and on
/// inputs). Where a tensor has several uses, products that are fused accumulate into one tensor;
/// other summands get tensors of their own and meet in an `add`, so that no gradient tensor has
/// writers of different layouts once strategies have cut it. `last_fused`: the highest number that
/// the forward products are fused with.
/// Errors: InternalError where an operation's kind cannot be differentiated.
void differentiate(GraphBuilder& graph, Block& block, int last_fused);

}  // namespace lockstep
