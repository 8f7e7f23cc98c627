#pragma once

#include <vector>

#include "strategies/models/model_graph.hpp"
#include "strategies/sharding/placement.hpp"

namespace lockstep {

/// The communication that brings a tensor from one placement to another, appended to `body`:
/// reduce-scatters and all-reduces of sums, all-to-alls where a cut moves to another dimension,
/// all-gathers, and slices of what everybody has. New tensors are added to `tensors`; what comes
/// out is the last of them, or `into` where that is given. Errors: InternalError for an inner cut
/// that would be gathered before an outer one.
[[nodiscard]] Ref redistribute(const Mesh& mesh, std::vector<Tensor>& tensors,
                               std::vector<Operation>& body, const Ref& from, const Placement& to,
                               const Operation& because, const Ref* into = nullptr);

/// What reports call the communicator along some atoms: tp, cp, dp or pp where one of them has all
/// the atoms, else dp (gradients over dp and cp). relay() calls what moves experts' slots within ep
/// `ep`, whichever axes ep is cut from.
[[nodiscard]] std::string group_of(const Mesh& mesh, const MeshSubAxes& atoms);

}  // namespace lockstep
