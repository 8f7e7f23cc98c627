#include "tools/lockstep/output/text_width.hpp"

#include <algorithm>

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

std::vector<std::string> wrapped(const std::string& text, std::size_t most) {
  if (most == 0 || width_of(text) <= most) return {text};
  std::vector<std::string> out{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& line = out.back();
    if (!line.empty() && width_of(line) + 1 + width_of(word) > most) {
      out.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
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
    const bool is_note = line.starts_with("# ") && line.find("  ", 2) == line.npos;
    if (!is_note || width_of(line) <= most) {
      out += line + "\n";
      continue;
    }
    const char* lead = "# ";
    for (const std::string& part : wrapped(line.substr(2), most - std::min<std::size_t>(most, 4))) {
      out += lead + part + "\n";
      lead = "#   ";
    }
  }
  return out;
}

}  // namespace lockstep::cli
