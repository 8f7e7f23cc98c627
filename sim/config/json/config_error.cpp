#include "sim/config/json/config_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep {

namespace {

constexpr std::size_t kLongestShown = 60;     // bytes of a value in a message
constexpr std::size_t kLongestPointer = 200;  // bytes of a pointer in a message

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

/// At most `most` bytes of `text`, never cutting a code point in two.
std::string_view head_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

std::string on_one_line(std::string_view text, std::size_t most) {
  const std::string_view head = head_of(text, most);
  std::string out;
  for (const char c : head) {
    if (is_control(c)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  if (head.size() < text.size()) out += "...";
  return out;
}

std::string place_of(const Problem& problem) {
  if (problem.at.line == 0) return problem.file;
  return fmt::format("{}:{}:{}", problem.file, problem.at.line, problem.at.column);
}

std::string line_of(const Problem& problem) {
  std::string out = place_of(problem) + ": error: ";
  if (!problem.pointer.empty()) out += on_one_line(problem.pointer, kLongestPointer) + ": ";
  return out + problem.message + "\n";
}

std::string text_of(const std::vector<Problem>& problems, std::size_t total) {
  std::string out;
  const std::size_t printed = std::min(problems.size(), ConfigError::kMostPrinted);
  for (std::size_t i = 0; i < printed; ++i) out += line_of(problems[i]);
  if (printed < total) out += fmt::format("and {} more\n", total - printed);
  return out + fmt::format("{} error{}; nothing was run", total, total == 1 ? "" : "s");
}

bool comes_before(const Problem& a, const Problem& b) {
  return std::tie(a.file, a.at.line, a.at.column) < std::tie(b.file, b.at.line, b.at.column);
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return '"' + on_one_line(text, kLongestShown) + '"';
}

ConfigError::ConfigError(std::vector<Problem> problems, std::size_t total)
    : Error{ErrorCode::invalid_input, Text{text_of(problems, total)}, problems.front().message,
            place_of(problems.front())},
      problems_{std::move(problems)},
      total_{total} {}

ConfigError::ConfigError(Problem problem) : ConfigError{std::vector{std::move(problem)}, 1} {}

void Problems::note(Position at, std::string pointer, std::string message) {
  ++total_;
  if (!keeps_more()) return;
  problems_.push_back({file_, at, std::move(pointer), std::move(message)});
}

void Problems::add(const ConfigError& other) {
  total_ += other.total();
  problems_.insert(problems_.end(), other.problems().begin(), other.problems().end());
}

void Problems::throw_if_any() {
  if (!any()) return;
  std::stable_sort(problems_.begin(), problems_.end(), comes_before);
  throw ConfigError{problems_, total_};
}

}  // namespace lockstep
