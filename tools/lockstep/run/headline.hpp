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
/// the step, and changes that shorten it.
[[nodiscard]] std::vector<HeadlineEntry> headline_of(const RunOptions& options,
                                                     const TrainingStepResult& result);

/// "extrapolated: 16384 GPUs (validated up to 2800)", a line each.
[[nodiscard]] std::vector<std::string> extrapolation_lines(const Confidence& confidence);

}  // namespace lockstep::cli
