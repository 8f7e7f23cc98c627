#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::app {

/// What a name of a file or of a shipped config means: itself if it is empty, has a slash or
/// ".json", or exists; else the file of configs/`folder` with that name, alias or prefix. None: no
/// such name.
[[nodiscard]] std::optional<std::string> shipped_or_file(const std::string& name,
                                                         std::string_view folder);

/// The file of the shipped config of exactly that name, found without a list of all; none: no such.
[[nodiscard]] std::optional<std::string> shipped_file(std::string_view folder,
                                                      const std::string& name);

}  // namespace lockstep::app
