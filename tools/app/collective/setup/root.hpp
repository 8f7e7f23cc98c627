#pragma once

#include <optional>
#include <span>

#include "sim/schedule/contract.hpp"

namespace lockstep::app {

/// The root of a request, 0 if not given. Throws RequestError if it is given and none of the
/// collectives has a root.
[[nodiscard]] int root_of(std::optional<int> given, std::span<const Collective> collectives);
/// The same of a single one.
[[nodiscard]] int root_of(std::optional<int> given, Collective collective);

}  // namespace lockstep::app
