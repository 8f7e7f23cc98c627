#include "tools/app/inputs/config_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

namespace fs = std::filesystem;

std::string& chosen() {
  static std::string path;
  return path;
}

bool holds_configs(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "clusters", ignored);
}

/// Installed next to the program, wherever that was moved to.
fs::path installed() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path() / "../share/lockstep/configs").lexically_normal();
}

}  // namespace

std::string config_folder() {
  if (!chosen().empty()) return chosen();
  if (const char* given = std::getenv("LOCKSTEP_CONFIGS"); given != nullptr && *given != '\0') {
    if (holds_configs(given)) return given;
    throw RequestError(std::string{"LOCKSTEP_CONFIGS="} + given +
                       ": no folder with configs; expected one with the folders clusters, devices, "
                       "models and scenarios");
  }
  if (const fs::path folder = installed(); holds_configs(folder)) return folder.string();
  if (holds_configs("configs")) return "configs";
  return LOCKSTEP_CONFIG_FOLDER;
}

void use_config_folder(std::string path) {
  chosen() = std::move(path);
}

}  // namespace lockstep::app
