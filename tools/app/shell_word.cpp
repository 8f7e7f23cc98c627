#include "tools/app/shell_word.hpp"

namespace lockstep::app {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string{word};
  std::string out = "'";
  for (const char letter : word) letter == '\'' ? out += "'\\''" : out += letter;
  return out + "'";
}

}  // namespace lockstep::app
