#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"

/// MSCCL's names of collectives.
namespace lockstep {

/// All that a file may name; reduce_scatter is MSCCL's spelling, reducescatter its scheduler's.
[[nodiscard]] const std::vector<std::string_view>& msccl_collective_names();

/// Nothing for those whose result is the program's own business, such as custom.
[[nodiscard]] std::optional<Collective> msccl_collective(std::string_view name);

/// What our collective is called there; custom where it has no such name.
[[nodiscard]] std::string_view msccl_name_of(Collective collective);

/// Whether a rank begins, or ends, with a part of the message alone.
[[nodiscard]] bool begins_with_part(std::optional<Collective> collective);
[[nodiscard]] bool ends_with_part(std::optional<Collective> collective);

}  // namespace lockstep
