#pragma once

#include <optional>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/nccl_tests/nccl_tests.hpp"

/// Infers the collective of a run that does not name it: nccl-tests prints busbw as algbw times a
/// factor that depends on the collective and mostly on the number of ranks.
namespace lockstep {

struct NcclFit {
  Collective collective = Collective::all_reduce;
  std::optional<int> ranks;  // none: several numbers of ranks are consistent
};

/// The collectives consistent with a run's operation, root and bandwidths, for the ranks that it
/// names, or up to 4096 if it names none or only some. A known collective named by the text is the
/// only one.
[[nodiscard]] std::vector<NcclFit> fit_collectives(const NcclRun& run);

}  // namespace lockstep
