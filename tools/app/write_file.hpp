#pragma once

#include <string>

namespace lockstep::app {

/// All of the text or nothing: it is written next to its place and then moved there. Throws
/// IoError.
void write_file(const std::string& path, const std::string& text);

/// Throws IoError where write_file() would, so that nothing is computed in vain; leaves nothing.
void check_writable(const std::string& path);

/// Where to write what is to be at `path`: next to it, to be moved there once it is whole; a device
/// or a pipe is written itself.
[[nodiscard]] std::string place_to_write(const std::string& path);

}  // namespace lockstep::app
