#pragma once

#include <memory>
#include <optional>
#include <string>

#include "strategies/nccl/nccl_communicator.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// Version of NCCL, and restrictions of its choice.
struct NcclRequest {
  std::string version = "2.30";   // id in configs/nccl
  std::string algorithms;         // syntax of NCCL_ALGO
  std::string protocols;          // syntax of NCCL_PROTO
  std::string calibration{};      // file; empty: only the shipped costs
  std::vector<NcclCost> costs{};  // not from a file; override all others

  /// Validates the names even if they are not used. Throws RequestError, ConfigError.
  void check() const;
};

/// NCCL's choice on a setup by size: the choice of its tuning model, which is then replayed on the
/// links after its measured costs. Thread-safe.
class NcclChooser {
 public:
  /// Throws RequestError, ConfigError for invalid options.
  NcclChooser(const CollectiveSetup& setup, const NcclRequest& options);
  NcclChooser(const NcclChooser&) = delete;
  NcclChooser& operator=(const NcclChooser&) = delete;

  /// Throws RequestError if NCCL cannot execute the collective.
  [[nodiscard]] NcclPick pick(Collective collective, Bytes size,
                              const AutomaticChoice& how = {}) const;
  /// The setup's ranks as NCCL sees them.
  [[nodiscard]] const NcclCommunicator& communicator() const { return *communicator_; }
  /// The network for replaying choices.
  [[nodiscard]] const std::shared_ptr<const Network>& network() const { return fused_; }

 private:
  NcclTuning tuning_;
  std::shared_ptr<const Network> fused_;
  std::optional<NcclCommunicator> communicator_;
};

}  // namespace lockstep::app
