#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {

/// All bytes of a file. `expected` names what should stand there, such as "a GOAL file". Throws
/// ConfigError where it is missing, a directory, not readable or larger than `most` bytes.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::string_view expected,
                                    std::size_t most);

}  // namespace lockstep
