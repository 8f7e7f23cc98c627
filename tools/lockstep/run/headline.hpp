#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/lockstep/run/run_options.hpp"

namespace lockstep::cli {

/// An entry of the headline: its name and its lines.
struct HeadlineEntry {
  std::string name;
  std::vector<std::string> lines{};
};

/// The headline: model, hardware, layout; step time, throughput, training time; memory; limits of
/// the step, and changes that shorten it; provenance of the values that the time rests on.
[[nodiscard]] std::vector<HeadlineEntry> headline_of(const RunOptions& options,
                                                     const TrainingStepResult& result);

/// "71 % measured, 20 % fitted, 9 % datasheet values"; percents sum up to 100.
[[nodiscard]] std::string provenance_text(const app::StepProvenance& provenance);

/// "extrapolated: 16384 GPUs (validated up to 2800)", a line each.
[[nodiscard]] std::vector<std::string> extrapolation_lines(const Confidence& confidence);

}  // namespace lockstep::cli
