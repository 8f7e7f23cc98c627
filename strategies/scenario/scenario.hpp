#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

/// What `lockstep run` is given: a model, a cluster and how the one is spread over the other.
namespace lockstep {

/// The same scenario with some values instead of its own, to be compared with it.
struct ScenarioVariant {
  std::string name;                      // "through the host"
  std::vector<std::string> overrides{};  // as `--set` takes them
};

/// A value of a scenario that changes nothing, though it may stay.
struct ScenarioNote {
  std::string key;  // "parallel.overlap"
  std::string message;

  /// "parallel.overlap is without effect: ..."
  [[nodiscard]] std::string text() const { return key + " is without effect: " + message; }
};

struct ScenarioCluster {
  std::string name;  // "dgx-h100"
  Cluster cluster;
  Device device;
};

inline constexpr std::uint64_t kDefaultSeed = 1;

struct Scenario {
  std::string name;
  std::string summary;
  ScenarioCluster cluster;
  ModelConfig model;
  ParallelConfig parallel;
  /// Tokens (images, clips) to train on, used to report days.
  std::optional<double> samples{};
  /// Computation runs at this rate whatever its shapes.
  std::optional<FlopRate> sustained{};
  bool ignore_memory = false;
  std::uint64_t seed = kDefaultSeed;
  std::string stack{};         // software stack: which kernels are fused, which attention
  std::string stack_reason{};  // why this one; empty: the scenario names it
  std::vector<ScenarioVariant> variants{};
  JsonValue resolved;  // all of it with every default, to be printed
  std::vector<ScenarioNote> notes{};
};

/// Reads a scenario; `overrides` are `parallel.tp=4` and the like, applied before reading.
/// `configs` has the folders with the shipped models, clusters, devices and stacks.
///
/// Keys: name (the file's), summary, source, cluster (scenario_cluster.hpp), model
/// (scenario_model.hpp), parallel (the fields of ParallelConfig; scenario_parallel.hpp), tokens (of
/// a transformer) or samples (of other models) to train on, sustained ("28 TFLOP/s"),
/// ignore_memory, stack, seed, variants (a list of {"name": …, "set": ["parallel.tp=4", …]}; each
/// is read as a scenario of its own, so that what is wrong with one is reported, unless there are
/// overrides that leave the variants themselves alone: who runs one with overrides reads it with
/// them); `run` is ignored: what a result's config says of how it was made. Throws ConfigError
/// with everything that is wrong, impossible combinations included.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& path,
                                     const std::vector<std::string>& overrides = {},
                                     const std::filesystem::path& configs = "configs");

/// One of its variants, as a scenario without any. Errors: as load_scenario().
[[nodiscard]] Scenario load_variant(const std::filesystem::path& path,
                                    const ScenarioVariant& variant,
                                    std::vector<std::string> overrides = {},
                                    const std::filesystem::path& configs = "configs");

/// The same from a document in memory; `name` where it has none itself, files are looked for from
/// the document's folder.
[[nodiscard]] Scenario read_scenario(JsonDocument document, const std::string& name,
                                     const std::vector<std::string>& overrides = {},
                                     const std::filesystem::path& configs = "configs");

}  // namespace lockstep
