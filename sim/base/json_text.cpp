#include "sim/base/json_text.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "sim/base/utf8.hpp"

namespace lockstep {

std::string json_string(std::string_view text) {
  std::string out{"\""};
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (length == 1 && static_cast<unsigned char>(first) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
  return out;
}

}  // namespace lockstep
