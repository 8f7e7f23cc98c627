#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "strategies/scenario/scenario.hpp"

namespace lockstep {

/// Properties of a training run on which the simulation error may depend.
struct RunKind {
  std::string stack{};  // software
  std::string gpu{};
  std::string model{};  // "transformer", "mixture of experts", or another family
  std::string precision{};
  std::string recompute{};  // as scenarios name it
  double parameters = 1;
  std::int64_t sequence = 1;  // tokens
  std::int64_t micro_batch = 1;
  int gpus = 1;
  int nodes = 1;
  int gpus_per_node = 1;        // that the run uses
  double nic_gbps_per_gpu = 0;  // of a node's NICs by its GPUs; 0: nothing goes through NICs
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int ep = 1;
  int dp = 1;
  int zero = 0;
  bool tp_across_nodes = false;
  /// Property and value of what only some runs have: {"pipeline schedule", "zb-v"}. A run with one
  /// that no validated run has is outside the validated domain.
  std::set<std::pair<std::string, std::string>> features{};

  friend bool operator==(const RunKind&, const RunKind&) = default;
};

[[nodiscard]] RunKind run_kind_of(const Scenario& scenario);

}  // namespace lockstep
