#include "tools/app/inputs/calibration_of.hpp"

#include <filesystem>

#include "strategies/measure/machine/machine_file.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

std::string calibration_file(const std::string& name) {
  std::error_code ignored;
  const bool bare = !name.empty() && name.find('/') == std::string::npos &&
                    name.find(".json") == std::string::npos &&
                    !std::filesystem::exists(name, ignored);
  if (!bare) return name;
  const ConfigNames names{config_folder(), "calibration"};
  if (const auto id = names.meant(name)) return names.file_of(*id).string();
  throw RequestError("calibration", names.complaint("calibration", name));
}

std::optional<MeasuredMachine> machine_of(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const JsonDocument document = read_json(calibration_file(file));
  if (!is_machine(document)) return std::nullopt;
  return read_machine(document);
}

Calibration calibration_of(const std::string& file) {
  if (file.empty()) return {};
  const JsonDocument document = read_json(calibration_file(file));
  if (is_machine(document))
    throw RequestError("calibration", file + " is a machine calibration, which `run` alone takes");
  return read_calibration(document, config_folder() + "/kernels");
}

}  // namespace lockstep::app
