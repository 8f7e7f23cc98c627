#include "tools/lockstep/parser/settings.hpp"

namespace lockstep::cli {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::vector<Setting> split_settings(std::string_view text) {
  std::vector<Setting> out;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view one = text.substr(0, comma);
    const auto equals = one.find('=');
    out.push_back({trimmed(one), trimmed(one.substr(0, equals)),
                   equals == std::string_view::npos ? "" : trimmed(one.substr(equals + 1))});
    if (more) text.remove_prefix(comma + 1);
  }
  return out;
}

}  // namespace lockstep::cli
