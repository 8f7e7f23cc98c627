#pragma once

#include <optional>
#include <span>

#include "sim/schedule/contract.hpp"

namespace lockstep::cli {

/// The rank that --root names, 0 where it is not given. Throws UsageError where it is given and
/// none of the collectives has a root.
[[nodiscard]] int root_of(std::optional<int> given, std::span<const Collective> collectives);
/// The same of a single one.
[[nodiscard]] int root_of(std::optional<int> given, Collective collective);

}  // namespace lockstep::cli
