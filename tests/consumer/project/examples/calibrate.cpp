// The remaining error of parameters that are fitted to half of the measured tables.
#include <cstdio>

#include "tools/app/calibrate/calibrate.hpp"
#include "tools/app/inputs/config_folder.hpp"

int main(int, char** argv) {
  lockstep::app::use_config_folder(CONFIGS);
  const auto result = lockstep::app::calibrate({.from = {argv[1]}, .split = true});
  std::printf("%.17g\n", result.fitted.front().after.median);
}
