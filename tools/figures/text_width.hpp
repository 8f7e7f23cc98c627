#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::figures {

/// Pixels that a text takes at most in a common sans-serif face: advance widths of DejaVu Sans,
/// which is wider than Helvetica, Arial and their replacements.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// Lines no wider than `width`, broken at spaces; a longer word is a line of its own.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, double size, double width,
                                               bool bold = false);

/// The text, or its beginning with "…" where it is wider than `width`.
[[nodiscard]] std::string shortened(std::string_view text, double size, double width);

}  // namespace lockstep::figures
