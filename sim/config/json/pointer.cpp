#include "sim/config/json/pointer.hpp"

namespace lockstep {

std::string child_pointer(std::string_view parent, std::string_view key) {
  std::string out{parent};
  out += '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string child_pointer(std::string_view parent, std::size_t index) {
  return child_pointer(parent, std::to_string(index));
}

}  // namespace lockstep
