#pragma once

#include <memory>
#include <optional>
#include <string>

#include "strategies/nccl/nccl_communicator.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// Which NCCL, and what it may choose from.
struct NcclRequest {
  std::string version = "2.30";   // of configs/nccl
  std::string algorithms;         // as NCCL_ALGO
  std::string protocols;          // as NCCL_PROTO
  std::string calibration{};      // file; empty: the shipped costs alone
  std::vector<NcclCost> costs{};  // not of a file; go before all others

  /// Reads what they name, even if it is not going to be used. Throws RequestError, ConfigError.
  void check() const;
};

/// What NCCL would do on a setup, size by size: its tuning model's pick, which is then replayed
/// on the links after what it was measured to cost in addition. Thread-safe.
class NcclChooser {
 public:
  /// Throws RequestError, ConfigError for what is wrong with the options.
  NcclChooser(const CollectiveSetup& setup, const NcclRequest& options);
  NcclChooser(const NcclChooser&) = delete;
  NcclChooser& operator=(const NcclChooser&) = delete;

  /// Throws RequestError where NCCL has no way to do it.
  [[nodiscard]] NcclPick pick(Collective collective, Bytes size) const;
  /// The setup's ranks as NCCL sees them.
  [[nodiscard]] const NcclCommunicator& communicator() const { return *communicator_; }
  /// The network that picks are replayed on.
  [[nodiscard]] const std::shared_ptr<const Network>& network() const { return fused_; }

 private:
  NcclTuning tuning_;
  std::shared_ptr<const Network> fused_;
  std::optional<NcclCommunicator> communicator_;
};

}  // namespace lockstep::app
