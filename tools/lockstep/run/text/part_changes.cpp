#include "tools/lockstep/run/text/part_changes.hpp"

#include <fmt/format.h>

#include <utility>

#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

std::string baseline_line(const TrainingStepResult& result) {
  const double base = result.baseline->step.seconds();
  const double more = result.throughput.step.seconds() - base;
  return fmt::format(
      "{:+.2f} % against {} without the changes of GPU speeds, links and NICs, at "
      "the same fidelity",
      100 * more / base, to_string(result.baseline->step));
}

std::string fidelity_line(const TrainingStepResult& result) {
  if (result.step.fidelity == Fidelity::all_ranks) return {};
  return result.options.speeds.empty()
             ? "fidelity representatives; --fidelity all simulates every rank"
             : "fidelity representatives: how slow ranks delay others is approximate; --fidelity "
               "all "
               "simulates every rank";
}

std::vector<std::string> part_change_lines(const TrainingStepResult& result) {
  std::vector<std::string> out;
  if (result.baseline) out.push_back(baseline_line(result));
  if (!result.drawn_ranks.empty()) out.push_back(drawn_line(drawn_ranks_of(result)));
  for (std::string& line : lines_of(result.link_changes, result.scenario.cluster.cluster))
    out.push_back(std::move(line));
  if (std::string line = fidelity_line(result); !line.empty()) out.push_back(std::move(line));
  for (const ScenarioNote& note : result.scenario.notes)
    if (note.key.starts_with("set_rank")) out.push_back(note.text());
  return out;
}

}  // namespace lockstep::cli
