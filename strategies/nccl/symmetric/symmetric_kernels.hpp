#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/symmetric/windows_data.hpp"

/// NCCL's choice among its symmetric kernels: those whose ranks load and store in each other's
/// buffers, inside one NVLink domain. Where both buffers are symmetric windows no other algorithm
/// is compared with them. Sources: NCCL 2.30 src/sym_kernels.cc, src/scheduler/symmetric_sched.cc.
namespace lockstep {

struct NcclSymmetricKernel {
  std::string_view name;  // NCCL's
  Collective collective = Collective::all_reduce;
  /// The algorithm that sends what the kernel loads and stores. One-shot multicast is played
  /// without multicast: what a rank receives is the same, and is all that takes time.
  std::string_view spec;
  bool ll = false;         // a flag in every word: twice the bytes, no fence
  bool multicast = false;  // by the NVSwitches
};

/// The kernels of a collective, in NCCL's order; empty for other than all_reduce, all_gather and
/// reduce_scatter.
[[nodiscard]] std::vector<NcclSymmetricKernel> nccl_symmetric_kernels(Collective collective);

/// What NCCL asks its model about.
struct NcclSymmetricCase {
  NcclArchitecture architecture = NcclArchitecture::hopper;
  int ranks = 2;
  Collective collective = Collective::all_reduce;
  Bytes size;              // the whole message, by the nccl-tests convention
  bool multicast = false;  // the NVSwitches can
};

struct NcclSymmetricEstimate {
  NcclSymmetricKernel kernel;
  int blocks = 1;  // CTAs
  Duration time;   // by NCCL's model
};

/// Every kernel that can do it.
[[nodiscard]] std::vector<NcclSymmetricEstimate> nccl_symmetric_estimates(
    const NcclWindows& windows, const NcclSymmetricCase& of);
/// The one with the least time and CTAs, the first on ties. None if there is none.
[[nodiscard]] std::optional<NcclSymmetricEstimate> nccl_symmetric_pick(const NcclWindows& windows,
                                                                       const NcclSymmetricCase& of);
/// Time of a kernel before its first byte.
[[nodiscard]] Duration nccl_symmetric_launch(const NcclWindows& windows,
                                             NcclArchitecture architecture,
                                             const NcclSymmetricKernel& kernel);

/// Whether symmetric windows go to the copy engines; `zero_ctas`: NCCL_CTA_POLICY_ZERO.
[[nodiscard]] bool nccl_takes_copy_engines(const NcclWindows& windows, const NcclSymmetricCase& of,
                                           bool zero_ctas);

}  // namespace lockstep
