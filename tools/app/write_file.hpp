#pragma once

#include <string>

namespace lockstep::app {

/// Writes a file atomically, by renaming a temporary file next to it. Throws IoError.
void write_file(const std::string& path, const std::string& text);

/// Throws IoError if write_file() would, before anything is computed; leaves no file.
void check_writable(const std::string& path);

/// The path to write instead of `path`: a temporary file next to it, to be renamed; a device or a
/// pipe itself.
[[nodiscard]] std::string place_to_write(const std::string& path);

}  // namespace lockstep::app
