#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"

/// Files that extend another one and only contain differences.
namespace lockstep {

inline constexpr Key kExtends{"extends", "Name of the extended file, without .json"};

/// The file that a file of `folder` means by a name after `extends`.
using ExtendedFile =
    std::function<std::filesystem::path(const std::filesystem::path& folder, std::string_view)>;

/// That of the same folder.
[[nodiscard]] inline std::filesystem::path extended_next_to(const std::filesystem::path& folder,
                                                            std::string_view name) {
  return folder / (std::string{name} + ".json");
}

/// `read(ObjectReader&, T& out, bool extends)` reads into `out`: what the extended file says if
/// `extends` is set, so that every key is optional. `file`: the file itself. An extended file may
/// extend another; `those` are the files that led to this one.
template <class T, class Read>
[[nodiscard]] T read_extending(ObjectReader& in, const std::filesystem::path& file, Read read,
                               const ExtendedFile& find = extended_next_to,
                               std::vector<std::filesystem::path> those = {}) {
  T out{};
  const auto base = in.decisive(kExtends);
  const std::string name = base ? base->string() : std::string{};
  those.push_back(file.lexically_normal());
  if (!name.empty()) {
    const std::filesystem::path path = find(file.parent_path(), name).lexically_normal();
    const bool itself = std::find(those.begin(), those.end(), path) != those.end();
    if (itself) base->note("a file that extends itself: " + path.string());
    try {
      if (!itself)
        out = read_document(read_json(path), [&](ObjectReader& whole) {
          return read_extending<T>(whole, path, read, find, those);
        });
    } catch (const ConfigError& error) {
      base->note("the file it extends cannot be used: " + path.string());
      in.self().problems().add(error);
    }
  }
  read(in, out, base.has_value());
  return out;
}

}  // namespace lockstep
