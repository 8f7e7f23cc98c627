#pragma once

#include <climits>
#include <string>
#include <vector>

#include "sim/symmetry/fold.hpp"

namespace lockstep::cli {

/// One of several collectives at once: its ranks, then what executes the auxiliary ranks.
struct FoldCall {
  std::string name;
  std::vector<EndpointId> ranks;  // of the cluster, without auxiliary ranks
  std::string auxiliary = "";     // "switch", "host"
};

/// Who takes part in folded collectives.
struct FoldMembers {
  int ranks = INT_MAX;            // of the only collective, without auxiliary ranks
  std::string auxiliary = "";     // "switch", "host"
  std::vector<FoldCall> calls{};  // of several at once, which lines then name
};

/// "16 ranks and 2 switches in 2 classes, 128 links in 4; 6 of 96 transfers simulated", and a line
/// per class: number of ranks, which, how it differs from the largest, and when its times do.
[[nodiscard]] std::vector<std::string> describe_fold(const FoldReport& report,
                                                     const FoldMembers& members = {});
/// The same as a JSON object; on request with every class and its times.
[[nodiscard]] std::string fold_json(const FoldReport& report, bool with_classes,
                                    const FoldMembers& members);
/// The same of one algorithm at one size.
[[nodiscard]] std::string fold_json(const std::string& algorithm, Bytes size,
                                    const FoldReport& report, bool with_classes,
                                    const FoldMembers& members = {});

}  // namespace lockstep::cli
