#pragma once

#include "strategies/models/block_builder.hpp"

namespace lockstep {

/// Appends the cross-entropy of logits [..., classes] against labels [...], as three operations so
/// that classes can be sharded; results are fp32. The loss is the mean over all labels of all
/// microbatches. `logits` have the activations' dtype; the form decides whether they are first
/// widened. Of several losses in a block the model's is the first; `share`: the factor of this one
/// in their sum.
void append_loss(BlockBuilder& block, const Ref& logits, TensorId labels, double share = 1);

/// Mean squared error of predictions [..., n] against `target`, of the same shape.
void append_squared_error(BlockBuilder& block, const Ref& predictions, TensorId target);

}  // namespace lockstep
