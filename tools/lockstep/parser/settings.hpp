#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

/// One of several settings of an option, without spaces around its parts.
struct Setting {
  std::string_view text;   // "compute=0.8"
  std::string_view key;    // "compute"
  std::string_view value;  // "0.8"; empty without "="
};

/// The settings of "from=1 s, until=2 s"; commas in parentheses separate none. Views of `text`.
[[nodiscard]] std::vector<Setting> split_settings(std::string_view text);

/// What a time is to be, for the error of one that cannot be read: "expected a time such as
/// "1 s", at most 9223372 s, got "1e30 s"".
[[nodiscard]] std::string expected_time(std::string_view example, std::string_view got);

}  // namespace lockstep::cli
