#pragma once

#include <memory>
#include <optional>
#include <string>

#include "strategies/nccl/nccl_communicator.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "tools/lockstep/arena.hpp"

namespace lockstep::cli {

/// Which NCCL, and what it may choose from.
struct NcclOptions {
  std::string version = "2.30";   // of configs/nccl
  std::string algorithms;         // as NCCL_ALGO
  std::string protocols;          // as NCCL_PROTO
  std::string calibration{};      // file; empty: the shipped costs alone
  std::vector<NcclCost> costs{};  // not of a file; go before all others

  void add_to(CLI::App& command);
  /// Reads what they name, whether it will be asked or not. Throws UsageError, ConfigError.
  void check() const;
};

/// What NCCL would do on an arena, size by size: its tuning model's pick, which is then replayed
/// on the links after what it was measured to cost beside them. Thread-safe.
class NcclChooser {
 public:
  /// Throws UsageError, ConfigError for what is wrong with the options.
  NcclChooser(const Arena& arena, const NcclOptions& options);
  NcclChooser(const NcclChooser&) = delete;
  NcclChooser& operator=(const NcclChooser&) = delete;

  /// Throws UsageError where NCCL has no way to do it.
  [[nodiscard]] NcclPick pick(Collective collective, Bytes size) const;
  /// The arena's ranks as NCCL sees them.
  [[nodiscard]] const NcclCommunicator& communicator() const { return *communicator_; }
  /// The network that picks are replayed on.
  [[nodiscard]] const std::shared_ptr<const Network>& network() const { return fused_; }

 private:
  NcclTuning tuning_;
  std::shared_ptr<const Network> fused_;
  std::optional<NcclCommunicator> communicator_;
};

}  // namespace lockstep::cli
