#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {

/// At most one byte more than `most`, so that a larger file can be refused without being read.
/// `expected` is for the error of a directory: "a JSON file". Errors: ConfigError.
[[nodiscard]] std::string file_contents(const std::filesystem::path& path,
                                        std::string_view expected, std::size_t most);

}  // namespace lockstep
