#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Text in columns of a terminal.
namespace lockstep::cli {

/// Width in code points, so that "µs" lines up.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// Filled with spaces up to `width`; longer text as it is.
[[nodiscard]] std::string padded(const std::string& text, std::size_t width, bool left);

/// Notes, the lines that begin with "# ", cut into lines of at most `most` characters; headings,
/// which have wider gaps, and rows stay.
[[nodiscard]] std::string with_wrapped_notes(const std::string& text, std::size_t most);

/// Cut at spaces into lines of at most `most` characters, unless a word is longer; 0: one line.
[[nodiscard]] std::vector<std::string> wrapped(const std::string& text, std::size_t most);

}  // namespace lockstep::cli
