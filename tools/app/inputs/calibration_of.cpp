#include "tools/app/inputs/calibration_of.hpp"

#include <utility>

#include "strategies/measure/machine/machine_file.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::app {

std::string calibration_file(const std::string& name) {
  constexpr const char* kFolder = "calibration";
  if (auto file = shipped_or_file(name, kFolder)) return *std::move(file);
  throw RequestError("calibration",
                     ConfigNames{config_folder(), kFolder}.complaint("calibration", name));
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
