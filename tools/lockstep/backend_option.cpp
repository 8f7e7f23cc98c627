#include "tools/lockstep/backend_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/execute/cuda/open_backend.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/number_option.hpp"

namespace lockstep::cli {

std::unique_ptr<Backend> BackendOption::open() const {
  if (name.empty()) return nullptr;
  const auto names = backend_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UsageError(fmt::format("--backend: expected host or cuda, got \"{}\"", name));
  try {
    return open_backend(name);
  } catch (const NoDevice& error) {
    throw Refusal(fmt::format("skipped: {}", error.what()));
  }
}

int BackendOption::count(const Backend& device) const {
  return devices == 0 ? device.count() : std::min(devices, device.count());
}

void add_backend(CLI::App& command, const std::shared_ptr<BackendOption>& option,
                 const std::string& says) {
  command.add_option("--backend", option->name, says)->type_name("host|cuda");
  constexpr int kMostDevices = 1024;
  add_whole_number(
      command, "--devices", 1, kMostDevices,
      [option](auto n) { option->devices = static_cast<int>(n); },
      "GPUs to use at most, with --backend (default: all there are)");
}

}  // namespace lockstep::cli
