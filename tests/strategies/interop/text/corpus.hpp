#pragma once

#include <filesystem>
#include <optional>
#include <string>

/// Files by others that are no part of the project.
namespace lockstep::test {

/// The file or folder where it is present; tests over it are passed over where not.
inline std::optional<std::string> corpus(const std::string& name) {
  const std::string path = (std::filesystem::path{LOCKSTEP_CORPUS} / name).string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}

}  // namespace lockstep::test
