#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/reader.hpp"

/// The files that a scenario names: models, clusters, devices.
namespace lockstep {

struct ScenarioFolders {
  std::filesystem::path scenario;  // the folder of the scenario's file; empty: the current one
  std::filesystem::path configs;   // with models/, clusters/ and devices/ in it
};

/// A file that `name` at `at` names: with a slash or ".json" a path, from the scenario's folder or
/// from the current one; else, in this order, the id or an alias of a shipped one in
/// `configs`/`folder`, a file next to the scenario without its ".json", the only id that begins
/// with the name. Empty where it is not there, which is noted: no model named "lama"; did you mean
/// "llama"?
[[nodiscard]] std::optional<std::filesystem::path> find_file(const ValueReader& at,
                                                             std::string_view name,
                                                             std::string_view noun,
                                                             std::string_view folder,
                                                             const ScenarioFolders& folders);

/// The name of a file that find_file() found, as a resolved scenario has it: the id of a shipped
/// one, else as written.
[[nodiscard]] std::string name_of_file(std::string_view written, const std::filesystem::path& file,
                                       const ScenarioFolders& folders);

/// What `read` returns, or nothing where it throws a ConfigError, whose problems are noted.
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
