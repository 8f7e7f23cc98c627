#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tools/app/plan/axis.hpp"

namespace lockstep::app {

/// What a search starts from, and what it varies.
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
  std::string file{};                    // a space file (configs/spaces); flags go before it
};

/// What a space file asks of its space; what the request says itself goes before.
struct SpaceGoal {
  std::string objective{};
  std::vector<std::string> pareto{};
  std::vector<std::string> where{};
  std::optional<double> usd_per_gpu_hour{};
  std::optional<double> watts_per_gpu{};
  std::optional<double> pue{};
  std::optional<double> usd_per_kwh{};
};

/// Scenarios as points of a grid. A point is a number: the settings (clusters, models, precisions)
/// and the layout keys as digits, the first key slowest. Nothing of it is written out.
struct PlanSpace {
  std::string name;
  JsonDocument base;  // a scenario without the layout keys
  std::vector<SettingAxis> settings{};
  std::array<LayoutAxis, kLayoutKeys> layout{};  // each with at least one value
  SpaceGoal goal{};                              // of its file
  std::vector<std::string> notes{};              // what was taken where nothing was said
  /// The layout keys that the scenario itself has, as overrides; none without a scenario.
  std::optional<std::vector<std::string>> current{};

  [[nodiscard]] std::uint64_t setting_count() const;
  [[nodiscard]] std::uint64_t layout_count() const;
  /// All points. Errors: RequestError beyond 2^62.
  [[nodiscard]] std::uint64_t size() const;
  /// The values of a setting as `--set` takes them.
  [[nodiscard]] std::vector<std::string> setting_overrides(std::uint64_t setting) const;
  /// The place of its value on each of the axes of settings.
  [[nodiscard]] std::vector<std::size_t> setting_digits(std::uint64_t setting) const;
  [[nodiscard]] const LayoutAxis& axis(LayoutKey key) const {
    return layout[static_cast<std::size_t>(key)];
  }
  /// The number of the value of each layout key at a point.
  [[nodiscard]] std::array<std::int64_t, kLayoutKeys> digits(std::uint64_t index) const;
  /// Of the base, the axes and their values: equal spaces, equal hashes.
  [[nodiscard]] std::string hash() const;
};

/// Reads a space file in memory; for tests of its schema. Errors: ConfigError.
void check_space_file(const JsonDocument& document);

/// Errors: RequestError, ConfigError for what the files say.
[[nodiscard]] PlanSpace make_space(const SpaceRequest& request);

/// The scenario that a request names or describes, without its axes and space file, and its
/// overrides as `--set` values, not applied yet. Errors: RequestError, ConfigError.
struct BaseScenario {
  JsonDocument document;
  std::vector<std::string> overrides{};
};
[[nodiscard]] BaseScenario base_scenario(const SpaceRequest& request);

/// What "divisors" of a layout key are those of; 0: none.
[[nodiscard]] std::int64_t divisible(LayoutKey key, const Scenario& scenario);

/// A scenario of a setting: its layout (`overrides` on top of the setting's) unchecked.
[[nodiscard]] Scenario scenario_of(const PlanSpace& space, std::uint64_t setting,
                                   const std::vector<std::string>& overrides = {},
                                   LayoutCheck check = LayoutCheck::off);

}  // namespace lockstep::app
