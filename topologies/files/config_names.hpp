#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/extends.hpp"
#include "sim/config/json/json.hpp"

/// Names of shipped files: devices, clusters, models, scenarios, software stacks.
namespace lockstep {

/// Names of one kind of file: ids and their aliases.
class ConfigNames {
 public:
  /// Of the files in `configs`/`folder`, with the folder's aliases in `configs`/aliases.json.
  /// Throws ConfigError if either cannot be read or an alias names no file.
  ConfigNames(const std::filesystem::path& configs, std::string_view folder);

  /// The id with this name or alias.
  [[nodiscard]] std::optional<std::string> known(std::string_view name) const;
  /// Ids with this prefix, or with an alias that has it; none if it is shorter than three
  /// characters.
  [[nodiscard]] std::vector<std::string> beginning_with(std::string_view name) const;
  /// known(), else the only id with this prefix.
  [[nodiscard]] std::optional<std::string> meant(std::string_view name) const;
  /// Why `name` is unknown: `no device named "h10O"; did you mean "h100"?`, or the candidates of an
  /// ambiguous prefix; of many names the command that lists them.
  [[nodiscard]] std::string complaint(std::string_view noun, std::string_view name) const;

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  [[nodiscard]] std::vector<std::string> aliases_of(std::string_view id) const;
  [[nodiscard]] std::filesystem::path file_of(const std::string& id) const {
    return folder_ / (id + ".json");
  }

 private:
  struct Alias {
    std::string name;
    std::string id;
  };

  std::filesystem::path folder_;
  std::vector<std::string> ids_;  // sorted
  std::vector<Alias> aliases_;    // in the order of the file
};

/// Whether a name is that of a file by its path: with a slash or ".json".
[[nodiscard]] bool is_file_path(std::string_view name);

/// What a file means by a name after `extends`: a file of its folder, else the shipped one of
/// `configs`/`folder` with this name or alias.
[[nodiscard]] ExtendedFile extended_or_shipped(const std::filesystem::path& configs,
                                               std::string_view folder);

/// configs/schema/aliases.schema.json.
[[nodiscard]] JsonValue aliases_schema();

}  // namespace lockstep
