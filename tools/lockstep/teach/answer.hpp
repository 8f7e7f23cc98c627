#pragma once

#include <string>

namespace lockstep::cli {

/// The answer of the page that teaches to one request, both JSON: {"do": "film", ...}. The page
/// asks the same function, compiled to WebAssembly. Throws as the use cases, ConfigError for a
/// malformed request.
[[nodiscard]] std::string answer(const std::string& request);

}  // namespace lockstep::cli
