#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_config.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/files/operating_costs.hpp"
#include "topologies/graph/cluster.hpp"

/// The input of `lockstep run`: a model, a cluster and a parallel layout.
namespace lockstep {

/// A named set of overrides, simulated for comparison with the scenario.
struct ScenarioVariant {
  std::string name;                      // "through the host"
  std::vector<std::string> overrides{};  // in the syntax of `--set`
};

/// A scenario value that is accepted but has no effect.
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
  OperatingCosts costs{};  // of its file
};

inline constexpr std::uint64_t kDefaultSeed = 1;

struct Scenario {
  std::string name;
  std::string summary;
  ScenarioCluster cluster;
  ModelConfig model;
  ParallelConfig parallel;
  /// Tokens (images, clips) of the whole training, used to report days.
  std::optional<double> samples{};
  /// If given, the rate of all computation, whatever its shapes.
  std::optional<FlopRate> sustained{};
  bool ignore_memory = false;
  std::uint64_t seed = kDefaultSeed;
  std::string stack{};         // software stack: fused kernels, kind of attention
  std::string stack_reason{};  // why this one; empty if the scenario names it
  std::vector<ScenarioVariant> variants{};
  JsonValue resolved;  // the scenario with every default, as printed
  std::vector<ScenarioNote> notes{};
  bool overlap_of_stack = false;  // parallel.overlap is what the stack's software overlaps
};

/// Reads a scenario. `overrides` have the syntax of `--set` (`parallel.tp=4`) and apply before
/// reading. `configs` contains the shipped models, clusters, devices and stacks.
/// Keys: name (default: the file's), summary, source, cluster (scenario_cluster.hpp), model
/// (scenario_model.hpp), parallel (scenario_parallel.hpp), tokens (transformers) or samples (other
/// models) to train on, sustained ("28 TFLOP/s"), ignore_memory, stack, seed, variants (a list of
/// {"name": …, "set": ["parallel.tp=4", …]}), run (ignored: how a printed config was made).
/// Variants are read too, so that their errors are reported, unless an override leaves them
/// unchanged. Throws ConfigError with every problem, impossible combinations included.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& path,
                                     const std::vector<std::string>& overrides = {},
                                     const std::filesystem::path& configs = "configs");

/// configs/schema/scenario.schema.json.
[[nodiscard]] JsonValue scenario_schema();

/// One of its variants, as a scenario without variants. Errors: as load_scenario().
[[nodiscard]] Scenario load_variant(const std::filesystem::path& path,
                                    const ScenarioVariant& variant,
                                    std::vector<std::string> overrides = {},
                                    const std::filesystem::path& configs = "configs");

/// Whether a scenario must have a layout that is possible.
enum class LayoutCheck : std::uint8_t { on, off };

/// The same from a document in memory. `name`: used if the document has none; relative files are
/// looked up in the document's folder. Without a check, model, cluster and layout are read but not
/// checked against each other: for callers that try layouts of their own.
[[nodiscard]] Scenario read_scenario(const JsonDocument& document, const std::string& name,
                                     const std::vector<std::string>& overrides = {},
                                     const std::filesystem::path& configs = "configs",
                                     LayoutCheck check = LayoutCheck::on);

}  // namespace lockstep
