#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tools/app/plan/axis.hpp"

namespace lockstep::app {

/// Base scenario and axes of a search.
struct SpaceRequest {
  std::string scenario{};  // file or name of a shipped one; empty: model and cluster
  std::string model{};     // name or file, a Hugging Face config.json too
  std::string cluster{};   // name or file
  std::string gpu{};       // name or file of a device, instead of the cluster's
  std::optional<std::int64_t> nodes{};
  std::optional<std::int64_t> gpus{};  // instead of nodes
  std::optional<std::int64_t> global_batch{};
  std::optional<std::int64_t> sequence{};
  std::string tokens{};     // "15T"
  std::string precision{};  // bf16, fp16, fp8, fp32
  std::string stack{};
  std::vector<std::string> overrides{};  // as `--set`
  std::vector<std::string> vary{};       // "tp=1,2,4"
  std::vector<std::string> fix{};        // "zero=1"
  std::string file{};                    // a space file (configs/spaces); other members override it
};

/// Goals in a space file; the request overrides them.
struct SpaceGoal {
  std::string objective{};
  std::vector<std::string> pareto{};
  std::vector<std::string> where{};
  std::optional<double> usd_per_gpu_hour{};
  std::optional<double> watts_per_gpu{};
  std::optional<double> pue{};
  std::optional<double> usd_per_kwh{};
};

/// Grid of scenarios. A point is a mixed-radix number whose digits are the settings (clusters,
/// models, precisions) and the layout keys, most significant first; points are never materialized.
struct PlanSpace {
  std::string name;
  JsonDocument base;  // a scenario without the layout keys
  std::vector<SettingAxis> settings{};
  std::array<LayoutAxis, kLayoutKeys> layout{};  // each with at least one value
  SpaceGoal goal{};                              // of the space file
  /// Layout keys of the scenario as overrides; none without a scenario.
  std::optional<std::vector<std::string>> current{};

  [[nodiscard]] std::uint64_t setting_count() const;
  [[nodiscard]] std::uint64_t layout_count() const;
  /// Number of points. Errors: RequestError beyond 2^62.
  [[nodiscard]] std::uint64_t size() const;
  /// Values of a setting in `--set` syntax.
  [[nodiscard]] std::vector<std::string> setting_overrides(std::uint64_t setting) const;
  /// Per settings axis, the index of the setting's value.
  [[nodiscard]] std::vector<std::size_t> setting_digits(std::uint64_t setting) const;
  [[nodiscard]] const LayoutAxis& axis(LayoutKey key) const {
    return layout[static_cast<std::size_t>(key)];
  }
  /// Per layout key, the number of its value at a point.
  [[nodiscard]] std::array<std::int64_t, kLayoutKeys> digits(std::uint64_t index) const;
  /// Hash of the base, the axes and their values.
  [[nodiscard]] std::string hash() const;
};

/// configs/schema/space.schema.json.
[[nodiscard]] JsonValue space_schema();

/// Validates a space file; for tests of its schema. Errors: ConfigError.
void check_space_file(const JsonDocument& document);

/// Errors: RequestError; ConfigError for invalid files.
[[nodiscard]] PlanSpace make_space(const SpaceRequest& request);

/// The scenario that a request names or describes, without axes and space file, and its overrides
/// in `--set` syntax, not yet applied. Errors: RequestError, ConfigError.
struct BaseScenario {
  JsonDocument document;
  std::vector<std::string> overrides{};
};
[[nodiscard]] BaseScenario base_scenario(const SpaceRequest& request);

/// The number whose divisors are the values of a layout key; 0: not available.
[[nodiscard]] std::int64_t divisible(LayoutKey key, const Scenario& scenario);

/// The scenario of a setting with further overrides; checks the layout as `check` says.
[[nodiscard]] Scenario scenario_of(const PlanSpace& space, std::uint64_t setting,
                                   const std::vector<std::string>& overrides = {},
                                   LayoutCheck check = LayoutCheck::off);

}  // namespace lockstep::app
