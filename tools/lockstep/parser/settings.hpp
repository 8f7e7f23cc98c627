#pragma once

#include <string_view>
#include <vector>

namespace lockstep::cli {

/// One of several settings of an option, without spaces around its parts.
struct Setting {
  std::string_view text;   // "compute=0.8"
  std::string_view key;    // "compute"
  std::string_view value;  // "0.8"; empty without "="
};

/// The settings of "from=1 s, until=2 s". Views of `text`.
[[nodiscard]] std::vector<Setting> split_settings(std::string_view text);

}  // namespace lockstep::cli
