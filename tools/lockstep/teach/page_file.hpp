#pragma once

#include <string>

namespace lockstep::cli {

/// The page that teaches: one HTML file with the engine in it. Both are parts of the command, from
/// tools/page/dist.
[[nodiscard]] std::string teaching_page();

}  // namespace lockstep::cli
