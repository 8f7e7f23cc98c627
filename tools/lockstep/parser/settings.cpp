#include "tools/lockstep/parser/settings.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "sim/base/outer_spaces.hpp"

namespace lockstep::cli {

namespace {

/// The first that is in no parentheses: "normal(0.95,0.02)" is one value.
std::size_t comma_of(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth <= 0) return i;
  }
  return std::string_view::npos;
}

/// "1e6 s": units are read, powers of ten are not.
bool has_exponent(std::string_view text) {
  const auto e = text.find_first_not_of("0123456789.");
  return e != std::string_view::npos && e > 0 && (text[e] == 'e' || text[e] == 'E') &&
         e + 1 < text.size() &&
         std::string_view{"0123456789+-"}.find(text[e + 1]) != std::string_view::npos;
}

}  // namespace

std::vector<Setting> split_settings(std::string_view text) {
  std::vector<Setting> out;
  for (bool more = true; more;) {
    const auto comma = comma_of(text);
    more = comma != std::string_view::npos;
    const std::string_view one = text.substr(0, comma);
    const auto equals = one.find('=');
    out.push_back(
        {without_outer_spaces(one), without_outer_spaces(one.substr(0, equals)),
         equals == std::string_view::npos ? "" : without_outer_spaces(one.substr(equals + 1))});
    if (more) text.remove_prefix(comma + 1);
  }
  return out;
}

std::string expected_time(std::string_view example, std::string_view got) {
  constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
  return fmt::format("expected a time such as \"{}\", at most {} s{}, got \"{}\"", example,
                     INT64_MAX / kPicosecondsPerSecond,
                     has_exponent(got) ? ", without an exponent" : "", got);
}

}  // namespace lockstep::cli
