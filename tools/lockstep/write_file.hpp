#pragma once

#include <string>

namespace lockstep::cli {

/// All of the text or nothing: it is written beside its place and then moved there. Throws IoError.
void write_file(const std::string& path, const std::string& text);

}  // namespace lockstep::cli
