#pragma once

#include <memory>
#include <optional>
#include <string>

#include "strategies/collectives/spec.hpp"
#include "strategies/nccl/cost_terms.hpp"
#include "strategies/nccl/facts.hpp"
#include "strategies/nccl/plan.hpp"
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

  struct Pick {
    AlgorithmSpec spec;
    std::string text;               // "ring:channels=8, ll128, 24 channels"
    Duration launch;                // what it costs beside the links
    std::optional<Duration> model;  // by NCCL's own model; none: it does not choose here
    std::shared_ptr<const Network> network;
    NcclCostKey cost{};
    NcclCostTerms terms{};
  };
  /// Throws UsageError where NCCL has no way to do it.
  [[nodiscard]] Pick pick(Collective collective, Bytes size) const;
  /// The cycles that its rings follow inside a node; empty: by rank.
  [[nodiscard]] const std::vector<std::vector<int>>& node_rings() const { return node_rings_; }

 private:
  const Arena& arena_;
  NcclTuning tuning_;
  NcclFacts facts_;
  NcclChoices choices_;
  std::shared_ptr<const Network> fused_;
  std::vector<std::vector<int>> node_rings_;
};

}  // namespace lockstep::cli
