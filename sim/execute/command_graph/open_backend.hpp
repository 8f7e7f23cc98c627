#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep {

/// "host" and "cuda"; the latter also where it was not built.
[[nodiscard]] std::span<const std::string_view> backend_names();

/// A device by its name. Errors: NoDevice, in a sentence that begins with the reason in a few words
/// ("no GPU: ..."); InternalError for a name that is none.
[[nodiscard]] std::unique_ptr<Backend> open_backend(std::string_view name);

}  // namespace lockstep
