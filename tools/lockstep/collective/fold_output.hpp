#pragma once

#include <string>
#include <vector>

#include "sim/symmetry/fold.hpp"

namespace lockstep::cli {

/// "2 classes of 32 ranks, 5 of 96 links; 124 of 1984 transfers worked out", and a line per class:
/// number of ranks, which, how it differs from the largest, and when its times do.
[[nodiscard]] std::vector<std::string> describe_fold(const FoldReport& report);
/// The same as a JSON object; on request with every class and its times.
[[nodiscard]] std::string fold_json(const FoldReport& report, bool with_classes);
/// The same of one algorithm at one size.
[[nodiscard]] std::string fold_json(const std::string& algorithm, Bytes size,
                                    const FoldReport& report, bool with_classes);

}  // namespace lockstep::cli
