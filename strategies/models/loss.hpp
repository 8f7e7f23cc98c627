#pragma once

#include "strategies/models/block_builder.hpp"

namespace lockstep {

/// Cross-entropy of logits [..., classes] (whatever dimension stands last) against labels [...], in
/// three operations so that the classes may be cut; their results are fp32. The loss is the mean
/// over all labels of all microbatches. `logits` are of the dtype of activations; whether they are
/// widened first is the form's to say.
void append_loss(BlockBuilder& block, const Ref& logits, TensorId labels);

}  // namespace lockstep
