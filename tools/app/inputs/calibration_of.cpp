#include "tools/app/inputs/calibration_of.hpp"

#include <utility>

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

Calibration calibration_of(const std::string& name) {
  if (name.empty()) return {};
  return load_calibration(calibration_file(name), config_folder() + "/kernels");
}

Calibration fitted_calibration_of(const std::string& name) {
  Calibration out = calibration_of(name);
  if (out.machine)
    throw RequestError("calibration", name + " is a machine calibration, which `run` alone takes");
  return out;
}

}  // namespace lockstep::app
