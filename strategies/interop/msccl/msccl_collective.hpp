#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"

/// MSCCL's names of collectives.
namespace lockstep {

/// All valid names; reduce_scatter is MSCCL's spelling, reducescatter that of its scheduler.
[[nodiscard]] const std::vector<std::string_view>& msccl_collective_names();

/// None for names without a contract, such as custom.
[[nodiscard]] std::optional<Collective> msccl_collective(std::string_view name);

/// MSCCL's name of a collective; custom if it has none.
[[nodiscard]] std::string_view msccl_name_of(Collective collective);

/// Whether a rank starts, or ends, with one part of the message.
[[nodiscard]] bool begins_with_part(std::optional<Collective> collective);
[[nodiscard]] bool ends_with_part(std::optional<Collective> collective);

}  // namespace lockstep
