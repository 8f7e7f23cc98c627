#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What another tool calls a key of a scenario or a model.
struct KeyAlias {
  std::string_view alias;  // in lower case with underscores
  std::string_view path;   // "parallel.vpp"
  std::string_view value;  // what to write if the values differ; empty: the same value

  /// "vpp".
  [[nodiscard]] std::string_view key() const;
  /// `"vpp"`, or with `whole_path` `"parallel.vpp"`, and what its value is.
  [[nodiscard]] std::string text(bool whole_path) const;
};

/// All of them, by tool.
[[nodiscard]] std::span<const KeyAlias> key_aliases();

/// In any case, with "-" for "_" and leading dashes; null if no tool calls a key so.
[[nodiscard]] const KeyAlias* find_key_alias(std::string_view name);

/// All names that other tools have for the key of this path, such as "parallel.vpp".
[[nodiscard]] std::vector<std::string_view> aliases_of_key(std::string_view path);

}  // namespace lockstep
