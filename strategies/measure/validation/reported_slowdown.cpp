#include "strategies/measure/validation/reported_slowdown.hpp"

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Takes a number such as 3 or 2.5 off the end of the text; none if it ends otherwise.
std::optional<double> take_number(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  if (begin == text.size()) return std::nullopt;
  if (begin > 1 && text[begin - 1] == '.' && is_digit(text[begin - 2])) {
    --begin;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
  }
  const double out = std::stod(std::string{text.substr(begin)});
  text.remove_suffix(text.size() - begin);
  return out;
}

}  // namespace

double reported_slowdown(const MeasuredRun& run) {
  constexpr std::string_view kWords = "% slow";
  const std::string_view notes = run.origin.notes;
  for (std::size_t at = notes.find(kWords); at != std::string_view::npos;
       at = notes.find(kWords, at + 1)) {
    const std::size_t end = at + kWords.size();
    if (end < notes.size() && std::isalnum(static_cast<unsigned char>(notes[end])) != 0) continue;
    std::string_view before = notes.substr(0, at);
    if (before.ends_with(' ')) before.remove_suffix(1);
    const auto most = take_number(before);
    if (!most) continue;
    std::optional<double> least;
    if (before.ends_with('-')) {
      before.remove_suffix(1);
      least = take_number(before);
    }
    return (least.value_or(*most) + *most) / 2 / 100;
  }
  return 0;
}

}  // namespace lockstep
