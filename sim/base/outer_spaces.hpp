#pragma once

#include <string_view>

namespace lockstep {

/// Without leading and trailing spaces. A view of `text`.
[[nodiscard]] inline std::string_view without_outer_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace lockstep
