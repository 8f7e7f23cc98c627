#include "tools/lockstep/run/step_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostRanges = 6;

}  // namespace

std::string text_of(const std::vector<std::pair<int, int>>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i) {
    const auto [first, last] = ranges[i];
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return ranges.size() > kMostRanges ? text + ", ..." : text;
}

std::string how_simulated(const SimulatedTrainingStep& step) {
  const int ranks = step.timeline.program->mesh.ranks();
  if (step.fidelity == Fidelity::representatives) {
    const std::size_t kinds =
        step.classes.empty() ? step.timeline.ranks.size() : step.classes.size();
    return fmt::format(
        "fidelity representatives: {} of {} ranks, one of each {}, traffic of different groups "
        "apart (--fidelity all: all ranks, if feasible)",
        kinds, ranks, step.classes.empty() ? "role" : "kind");
  }
  if (step.classes.empty()) return "every rank simulated";
  const std::size_t hosts =
      step.timeline.representative_of.size() - static_cast<std::size_t>(ranks);
  return fmt::format("all {} ranks{}, folded into {} class{}", ranks,
                     hosts == 0 ? "" : fmt::format(" and {} host{}", hosts, hosts == 1 ? "" : "s"),
                     step.classes.size(), step.classes.size() == 1 ? "" : "es");
}

}  // namespace lockstep::cli
