#pragma once

#include <optional>
#include <span>

#include "sim/schedule/contract.hpp"

namespace lockstep::app {

/// The root of a request; 0 by default. Throws RequestError if it is given and no collective has a
/// root.
[[nodiscard]] int root_of(std::optional<int> given, std::span<const Collective> collectives);
/// The same for one collective.
[[nodiscard]] int root_of(std::optional<int> given, Collective collective);

/// Throws RequestError for `root` if the collective has one and it is not among `ranks` ranks.
void check_root(Collective collective, int root, int ranks);

}  // namespace lockstep::app
