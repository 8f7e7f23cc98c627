// The relative error of the first measured run.
#include <cstdio>

#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/validate/validate.hpp"

int main(int, char** argv) {
  lockstep::app::use_config_folder(CONFIGS);
  const auto result = lockstep::app::validate({.files = {argv[1]}, .limit = 1});
  std::printf("%.17g\n", result.rows.front().error());
}
