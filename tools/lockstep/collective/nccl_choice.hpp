#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "strategies/collectives/spec.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/plan.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "tools/lockstep/arena.hpp"

namespace lockstep::cli {

/// Which NCCL, and what it may choose from.
struct NcclOptions {
  std::string version = "2.30";  // of configs/nccl
  std::string algorithms;        // as NCCL_ALGO
  std::string protocols;         // as NCCL_PROTO

  void add_to(CLI::App& command);
};

/// What NCCL would do on an arena, size by size: its tuning model's pick, which is then replayed
/// under the protocol that it picked. Thread-safe.
class NcclChooser {
 public:
  /// Throws UsageError, ConfigError for what is wrong with the options.
  NcclChooser(const Arena& arena, const NcclOptions& options);

  struct Pick {
    AlgorithmSpec spec;
    std::string text;               // "ring:channels=8, ll128, 24 channels"
    Duration launch;                // before the first byte: its base latency
    std::optional<Duration> model;  // by NCCL's own model; none: it does not choose here
    std::shared_ptr<const Network> network;
  };
  /// Throws UsageError where NCCL has no way to do it.
  [[nodiscard]] Pick pick(Collective collective, Bytes size) const;

 private:
  [[nodiscard]] std::shared_ptr<const Network> network_under(NcclProtocol protocol) const;

  const Arena& arena_;
  NcclTuning tuning_;
  NcclFacts facts_;
  NcclChoices choices_;
  mutable std::mutex mutex_;
  mutable std::array<std::shared_ptr<const Network>, 3> networks_;
};

}  // namespace lockstep::cli
