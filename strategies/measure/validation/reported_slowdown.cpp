#include "strategies/measure/validation/reported_slowdown.hpp"

#include <regex>

namespace lockstep {

double reported_slowdown(const MeasuredRun& run) {
  static const std::regex words{R"((\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))? ?% slow\b)"};
  std::smatch found;
  if (!std::regex_search(run.origin.notes, found, words)) return 0;
  const double least = std::stod(found[1]);
  const double most = found[2].matched ? std::stod(found[2]) : least;
  return (least + most) / 2 / 100;
}

}  // namespace lockstep
