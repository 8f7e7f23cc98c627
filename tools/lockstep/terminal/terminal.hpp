#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Capabilities of the terminal: width and color.
namespace lockstep::cli {

/// Columns of text on stdout: $COLUMNS if it is a positive number, else the width of the terminal,
/// else kFallbackWidth.
inline constexpr std::size_t kFallbackWidth = 100;
[[nodiscard]] std::size_t terminal_width();

/// Whether stdout has a width, by $COLUMNS or as a terminal: in files and pipes a note is one line.
[[nodiscard]] bool has_terminal_width();

enum class ColorMode : std::uint8_t { automatic, always, never };

/// Whether text written to the file descriptor is colored. automatic: on a terminal, unless
/// $NO_COLOR is set and not empty (no-color.org) or $TERM is "dumb".
[[nodiscard]] bool has_color(ColorMode mode, int descriptor);

/// The mode that `--color` names among the words of a command line, also if they cannot be parsed:
/// errors are printed in it. automatic without one.
[[nodiscard]] ColorMode color_mode_of(int argc, char** argv);

/// Meaning of a colored text.
enum class Emphasis : std::uint8_t { none, best, limit, error };

/// SGR sequence that begins the emphasis; it ends with kEndOfEmphasis.
[[nodiscard]] std::string_view begin_of(Emphasis emphasis);
inline constexpr std::string_view kEndOfEmphasis = "\033[0m";

}  // namespace lockstep::cli
