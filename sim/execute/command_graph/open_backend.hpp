#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep {

/// "host" and "cuda", the latter even if not built in.
[[nodiscard]] std::span<const std::string_view> backend_names();

/// Opens a device by name. Throws NoDevice, whose message starts with the reason ("no GPU: ...");
/// InternalError for an unknown name.
[[nodiscard]] std::unique_ptr<Backend> open_backend(std::string_view name);

}  // namespace lockstep
