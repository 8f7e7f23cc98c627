#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"
#include "strategies/calibration/nccl_names.hpp"

/// What NCCL does with buffers that are registered as symmetric windows (ncclCommWindowRegister
/// with NCCL_WIN_COLL_SYMMETRIC), from configs/nccl/*.json with their sources.
namespace lockstep {

/// Costs of symmetric kernels by NCCL's model, of GPUs of one generation.
struct NcclSymmetricCosts {
  Duration ll_all_gather;  // base latencies: kernels with a flag in every word (LL) ...
  Duration ll;
  Duration all_reduce;  // ... and with loads and stores
  Duration other;
  Rate block_all_reduce = Rate::bytes_per_second(1);  // of a CTA
  Rate block = Rate::bytes_per_second(1);
  Rate peak_multicast_all_reduce = Rate::bytes_per_second(1);  // of a GPU
  Rate peak = Rate::bytes_per_second(1);
  std::int64_t multicast_blocks = 1;  // CTAs of all ranks together
};

/// How NCCL compares symmetric kernels.
struct NcclSymmetricFactors {
  double ll_bytes = 1;            // bytes of a kernel with flags, for its processing too
  double ll_multicast = 1;        // rate of multicast stores with flags
  double multicast_per_rank = 1;  // rate of multicast, per rank, of all-gather, reduce-scatter
  std::int64_t most_blocks = 1;   // CTAs of a kernel without multicast
  double time_for_fewer = 1;      // a kernel takes the fewest CTAs within this of its least time
  double cost_of_block = 0;       // a CTA counts as so much of the time
};

/// Collectives by copy engines.
struct NcclCopyEngines {
  Duration launch;
  /// A rank's part from which an all-gather goes to them; none: only with NCCL_CTA_POLICY_ZERO.
  NcclTable<NcclArchitecture, std::optional<Bytes>> all_gather_above;
};

struct NcclWindows {
  bool has_kernels = false;  // in this version
  bool has_copy_engines = false;
  NcclSymmetricCosts up_to_hopper;
  NcclSymmetricCosts blackwell;
  NcclSymmetricFactors factors;
  NcclCopyEngines copy_engines;
};

}  // namespace lockstep
