#pragma once

#include <string>
#include <vector>

#include "sim/program/mesh.hpp"
#include "sim/program/operation.hpp"
#include "sim/program/tensor.hpp"

namespace lockstep {

/// Why a rank cannot do its part of an operation with the shards that it has of the operands; empty
/// if it can. GEMMs: what both operands have is cut alike, what the result keeps is cut as the
/// operand is, and the result is a sum over the sub-axes that cut what is contracted. Collectives:
/// the result has the elements that their kind gives. Others: nothing reads a partial sum that is
/// not a weight's gradient, and elementwise operands have equal shards.
[[nodiscard]] std::string misfit(const Mesh& mesh, const std::vector<Tensor>& tensors,
                                 const Operation& operation);
/// Why the sub-axes of a tensor's placement contradict each other: one cuts it twice, or cuts a sum
/// over itself.
[[nodiscard]] std::string misfit(const Mesh& mesh, const Tensor& tensor);

}  // namespace lockstep
