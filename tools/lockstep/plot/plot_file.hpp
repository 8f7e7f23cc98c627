#pragma once

#include <string>

namespace lockstep::cli {

/// Writes a file as a whole or not at all: beside its place first, then moved there. What is no
/// plain file, such as a pipe, is written in place. Throws IoError.
void write_whole_file(const std::string& path, const std::string& text);

}  // namespace lockstep::cli
