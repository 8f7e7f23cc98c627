#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {

/// All bytes of a file. `expected` describes it in errors, such as "a GOAL file". Throws
/// ConfigError if it is missing, a directory, unreadable or larger than `most` bytes.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::string_view expected,
                                    std::size_t most);

}  // namespace lockstep
