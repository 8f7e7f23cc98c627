#include "tools/lockstep/output/set_options.hpp"

#include "tools/app/shell_word.hpp"

namespace lockstep::cli {

std::string set_options(const std::vector<std::string>& assignments) {
  std::string out;
  for (const std::string& each : assignments)
    out += (out.empty() ? "--set " : " --set ") + app::shell_word(each);
  return out;
}

}  // namespace lockstep::cli
