#include "tools/lockstep/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>

namespace lockstep::cli {

namespace {

/// An environment variable, empty if it is not set.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

std::optional<std::size_t> positive_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

std::optional<ColorMode> mode_named(std::string_view name) {
  if (name == "auto") return ColorMode::automatic;
  if (name == "always") return ColorMode::always;
  if (name == "never") return ColorMode::never;
  return std::nullopt;
}

}  // namespace

std::size_t terminal_width() {
  if (const auto columns = positive_number(variable("COLUMNS"))) return *columns;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kFallbackWidth;
}

bool has_terminal_width() {
  winsize size{};
  return positive_number(variable("COLUMNS")) ||
         (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0);
}

bool has_color(ColorMode mode, int descriptor) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return isatty(descriptor) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

ColorMode color_mode_of(int argc, char** argv) {
  constexpr std::string_view kOption = "--color";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::optional<ColorMode> mode;
    if (word == kOption && i + 1 < argc) mode = mode_named(argv[i + 1]);
    if (word.rfind("--color=", 0) == 0) mode = mode_named(word.substr(kOption.size() + 1));
    if (mode) return *mode;
  }
  return ColorMode::automatic;
}

std::string_view begin_of(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::best:
      return "\033[1;32m";
    case Emphasis::limit:
      return "\033[33m";
    case Emphasis::error:
      return "\033[1;31m";
    case Emphasis::none:
      break;
  }
  return {};
}

}  // namespace lockstep::cli
