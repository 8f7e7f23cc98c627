#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/models/model_config.hpp"
#include "strategies/parallel/parallel_config.hpp"
#include "topologies/cluster.hpp"
#include "topologies/config/device.hpp"
#include "topologies/config/json.hpp"

/// What `lockstep run` is given: a model, a cluster and how the one is spread over the other.
namespace lockstep {

struct ScenarioCluster {
  std::string name;  // "dgx-h100"
  Cluster cluster;
  Device device;
};

struct Scenario {
  std::string name;
  std::string summary;
  ScenarioCluster cluster;
  ModelConfig model;
  ParallelConfig parallel;
  /// Tokens (images, clips) to train on: days are told for these.
  std::optional<double> samples{};
  /// Computation runs at this rate whatever its shapes.
  std::optional<FlopRate> sustained{};
  bool ignore_memory = false;
  std::string stack{};  // software stack: which kernels are fused, which attention; empty: default
  JsonValue resolved;   // all of it with every default, to be printed
};

/// Reads a scenario; `overrides` are `parallel.tp=4` and the like, applied before reading.
/// Throws ConfigError with everything that is wrong, impossible combinations included.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& path,
                                     const std::vector<std::string>& overrides = {});

}  // namespace lockstep
