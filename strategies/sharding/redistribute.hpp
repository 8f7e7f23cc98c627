#pragma once

#include <vector>

#include "strategies/models/model_graph.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

/// Appends to `body` the communication that changes a tensor's placement: reduce-scatter or
/// all-reduce of partial sums, all-to-all if a sharding moves to another dimension, all-gather, and
/// slices of replicated tensors. Adds new tensors to `tensors`; the result is the last of them, or
/// `into` if given. InternalError if an inner sharding would be gathered before an outer one.
[[nodiscard]] Ref redistribute(const Mesh& mesh, std::vector<Tensor>& tensors,
                               std::vector<Operation>& body, const Ref& from, const Placement& to,
                               const Operation& because, const Ref* into = nullptr);

/// The name of the communicator along some sub-axes in reports: tp, cp, dp or pp if one of them
/// contains all, else dp (gradients over dp and cp). redistribute() itself names the all-to-alls of
/// experts `ep`, whichever axes ep is part of.
[[nodiscard]] std::string group_of(const Mesh& mesh, const MeshSubAxes& atoms);

}  // namespace lockstep
