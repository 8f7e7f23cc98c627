#include "tools/lockstep/terminal/text_width.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::cli {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = width_of(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return left ? text + space : space + text;
}

namespace {

constexpr std::size_t kMostIndent = 6;  // of notes

/// A word in pieces no wider than `most`, cut after separators of paths and of lists.
std::vector<std::string> pieces(const std::string& word, std::size_t most) {
  std::vector<std::string> out{""};
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find_first_of("/+.", at), word.size() - 1) + 1;
    const std::string part = word.substr(at, end - at);
    if (!out.back().empty() && width_of(out.back()) + width_of(part) > most) out.emplace_back();
    out.back() += part;
    at = end;
  }
  return out;
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, std::size_t most) {
  if (most == 0 || width_of(text) <= most) return {text};
  std::vector<std::string> out{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& line = out.back();
    if (!line.empty() && width_of(line) + 1 + width_of(word) <= most) {
      line += " " + word;
    } else {
      std::vector<std::string> parts = pieces(word, most);
      if (line.empty()) line = std::exchange(parts.front(), "");
      for (std::string& part : parts)
        if (!part.empty()) out.push_back(std::move(part));
    }
    at = end + 1;
  }
  return out;
}

std::string with_wrapped_notes(const std::string& text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t begin = line.starts_with("# ") ? line.find_first_not_of(' ', 1) : line.npos;
    const bool is_note = begin <= kMostIndent && line.find("  ", begin) == line.npos;
    if (!is_note || width_of(line) <= most) {
      out += line + "\n";
      continue;
    }
    std::string lead = line.substr(0, begin);
    const std::string further = lead + "  ";
    for (const std::string& part : wrapped(line.substr(begin), most - std::min(most, begin + 2)))
      out += std::exchange(lead, further) + part + "\n";
  }
  return out;
}

}  // namespace lockstep::cli
