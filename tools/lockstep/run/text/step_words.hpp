#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategies/measure/machine/machine_links.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "tools/app/step/fidelity_check.hpp"
#include "tools/app/step/metrics/rank_classes.hpp"
#include "tools/app/step/metrics/step_confidence.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// "0-7, 32-39".
[[nodiscard]] std::string text_of(const std::vector<std::pair<int, int>>& ranges);
/// "all 256 ranks, folded into 32 classes", "every rank simulated".
[[nodiscard]] std::string how_simulated(const SimulatedTrainingStep& step);

/// "error of representatives: +0.50 % on 512 of 2048 ranks (7.28 s, all ranks 7.24 s)".
[[nodiscard]] std::string text_of(const FidelityCheck& check, int ranks);

/// "tp: all_reduce of 67108864 bytes among 8".
[[nodiscard]] std::string call_words(const ReportedChoice& choice);
/// "ring:channels=8".
[[nodiscard]] std::string algorithm_words(const ReportedChoice& choice);
/// Both: "tp: all_reduce of 67108864 bytes among 8 by ring:channels=8".
[[nodiscard]] std::string choice_words(const ReportedChoice& choice);

/// "NVLinks as measured, 100 GB/s after 3 us from GPU 0 to GPU 1 (else 240 GB/s after 600 ns): the
/// median of 2 pairs", "as the cluster has them: the calibration is of a host".
[[nodiscard]] std::string text_of(const MachineLinkUse& links);

/// What the step takes of a GPU's calibration: "GEMMs and memory bandwidth as measured on NVIDIA
/// H200", as a warning if the cluster has other GPUs. Empty: a calibration of a host.
[[nodiscard]] std::string kernel_words(const MachineLinkUse& links);

}  // namespace lockstep::cli
