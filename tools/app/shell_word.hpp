#pragma once

#include <string>
#include <string_view>

namespace lockstep::app {

/// Quotes a word for a POSIX shell, where it needs quotes.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace lockstep::app
