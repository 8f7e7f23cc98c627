#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

/// A key of a scenario or of its model, as the schemas have it.
struct KeyHelp {
  std::string path;                 // "parallel.tp"
  std::vector<std::string> texts;   // what it is, with its default; several: of alternatives
  std::vector<std::string> values;  // "integer, 1 to 16777216"; one for each of `texts`
  std::vector<std::string> keys;    // of an object
  std::vector<std::string_view> aliases;
  std::string asked;  // the name of another tool that led here; else empty
};

/// By path ("parallel.tp"), by a key that only one object has ("vpp"), or by the name of another
/// tool ("virtual_stages").
[[nodiscard]] std::optional<KeyHelp> find_key_help(std::string_view name);

/// The lines below the heading, each a statement.
[[nodiscard]] std::vector<std::string> lines_of(const KeyHelp& key);

}  // namespace lockstep::cli
