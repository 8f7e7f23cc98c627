#pragma once

#include <optional>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/nccl_tests/nccl_tests.hpp"

/// Which collective a run measured, where its text does not say: nccl-tests prints busbw as algbw
/// times a factor that distinguishes collectives, and mostly the number of ranks.
namespace lockstep {

struct NcclFit {
  Collective collective = Collective::all_reduce;
  std::optional<int> ranks;  // none: several numbers of ranks give these figures
};

/// The collectives that a run's operation, root and bandwidths fit, over the ranks that it names,
/// or where it names none or only some over up to 4096. One that the text names is the only one, if
/// it is known.
[[nodiscard]] std::vector<NcclFit> fit_collectives(const NcclRun& run);

}  // namespace lockstep
