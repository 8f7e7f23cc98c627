#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/reader.hpp"

/// Lookup of files that a scenario names: models, clusters, devices.
namespace lockstep {

struct ScenarioFolders {
  std::filesystem::path scenario;  // folder of the scenario file; empty: the current one
  std::filesystem::path configs;   // contains models/, clusters/ and devices/
};

/// The file that `name` at `at` refers to. A name with a slash or ".json" is a path, relative to
/// the scenario's folder or the current one. Otherwise, in this order: id or alias of a shipped
/// file in `configs`/`folder`; a file next to the scenario, without ".json"; the only id with this
/// prefix. If there is none, reports it with a suggestion, and with `besides`, what may stand there
/// instead of a file, and returns empty.
[[nodiscard]] std::optional<std::filesystem::path> find_file(
    const ValueReader& at, std::string_view name, std::string_view noun, std::string_view folder,
    const ScenarioFolders& folders, std::string_view besides = {});

/// The name of a found file in a resolved scenario: the id of a shipped file, else `written`.
[[nodiscard]] std::string name_of_file(std::string_view written, const std::filesystem::path& file,
                                       const ScenarioFolders& folders);

/// What `read` returns. If it throws a ConfigError, reports its problems and returns empty.
template <class Read>
auto or_noted(Problems& problems, Read&& read) -> std::optional<decltype(read())> {
  try {
    return std::forward<Read>(read)();
  } catch (const ConfigError& error) {
    problems.add(error);
    return std::nullopt;
  }
}

}  // namespace lockstep
