#include "tools/app/inputs/calibration_of.hpp"

#include "strategies/measure/machine/machine_file.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"

namespace lockstep::app {

std::optional<MeasuredMachine> machine_of(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const JsonDocument document = read_json(file);
  if (!is_machine(document)) return std::nullopt;
  return read_machine(document);
}

Calibration calibration_of(const std::string& file) {
  if (file.empty()) return {};
  const JsonDocument document = read_json(file);
  if (is_machine(document))
    throw RequestError("calibration", file + " is of a box, whose figures `run` alone takes");
  return read_calibration(document, config_folder() + "/kernels");
}

}  // namespace lockstep::app
