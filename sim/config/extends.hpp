#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/config/reader.hpp"

/// Files that extend another of their folder and only contain differences.
namespace lockstep {

inline constexpr Key kExtends{"extends", "Name of the extended file, without .json"};

/// `read(ObjectReader&, T& out, bool extends)` reads into `out`: what the extended file says if
/// `extends` is set, so that every key is optional. An extended file must be whole itself.
template <class T, class Read>
[[nodiscard]] T read_extending(ObjectReader& in, const std::filesystem::path& folder, Read read,
                               bool may_extend = true) {
  T out{};
  const auto base = in.decisive(kExtends);
  const std::string name = base ? base->string() : std::string{};
  if (base && !may_extend) {
    base->note("a file that another one extends must be whole itself");
  } else if (!name.empty()) {
    const std::filesystem::path path = folder / (name + ".json");
    try {
      out = read_document(read_json(path), [&](ObjectReader& whole) {
        return read_extending<T>(whole, folder, read, false);
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
