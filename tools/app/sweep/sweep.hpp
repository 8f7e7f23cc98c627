#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/plan/space.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/variants.hpp"

/// The same step at every point of a grid of scenario values.
namespace lockstep::app {

enum class SweepOutcome : std::uint8_t { simulated, misfit, impossible };

/// What a point came to, in plain values; none where it has no such value.
struct SweepRow {
  std::optional<std::int64_t> dp{};
  std::optional<double> step_s{};
  std::optional<std::int64_t> step_ps{};
  std::optional<double> tokens_per_s{};
  std::optional<double> mfu{};
  std::optional<double> exposed{};       // communication, share of the step
  std::optional<double> bubble{};        // likewise
  std::optional<std::int64_t> memory{};  // bytes
  std::optional<std::int64_t> margin{};  // bytes free
  std::string state{};                   // "fits", "does not fit", "impossible: ..."
  SweepOutcome outcome = SweepOutcome::simulated;
};

/// A point of a sweep, simulated as `run` would. Its name is "cluster.nodes=8, parallel.tp=2".
struct SweepPoint {
  std::uint64_t index = 0;          // the last axis fastest
  std::vector<std::string> values;  // one for each key, as written
  /// Result, memory shortfall, or the problem that makes it impossible; its overrides are all that
  /// were applied, those of the request first.
  VariantResult step;
  SweepRow row{};
};

struct SweepRequest {
  /// Scenario or model and cluster, overrides, and the axes (`vary`, `fix`) without a space file.
  SpaceRequest space{};
  /// What-ifs, network, fidelity, calibration; its scenario and overrides are those of `space`.
  TrainingStepRequest step{};
  std::size_t threads = 0;       // 0: as many as cores
  std::function<bool()> stop{};  // asked now and then: end with the points so far
  OnProgress on_progress{};
  /// Points that are not simulated again; they have a row and no step.
  std::map<std::uint64_t, SweepRow> known{};
  /// Called with each point in the order of their indices, from one thread.
  std::function<void(const SweepPoint&)> on_point{};
  std::function<void()> on_batch{};  // after some points, from the same thread
};

struct SweepResult {
  std::string name;               // of the scenario
  std::vector<std::string> axes;  // keys: "cluster.nodes"
  std::uint64_t points = 0;       // of the grid
  std::uint64_t simulated = 0;    // points with a step time
  std::uint64_t misfits = 0;      // points that do not fit into memory
  std::uint64_t impossible = 0;   // points that are no valid scenario, or deadlock
  bool dp_follows = false;        // dp is what the other degrees leave of the GPUs
  bool complete = true;           // false: stopped
};

/// The most points of a sweep: all of them are simulated.
inline constexpr std::uint64_t kMostSweepPoints = 1'000'000;

/// What identifies a sweep: its keys, its number of points and a hash of its scenario.
struct SweepGrid {
  std::vector<std::string> axes;
  std::uint64_t points = 0;
  std::string hash;
};
/// Errors: as sweep(), of axes.
[[nodiscard]] SweepGrid grid_of(const SweepRequest& request);

/// Simulates every point. dp is what tp, pp and cp leave of the GPUs, unless it is varied or set.
/// Errors: RequestError for axes, also for a grid of more than kMostSweepPoints; ConfigError if no
/// point is a valid scenario: that of the first.
[[nodiscard]] SweepResult sweep(const SweepRequest& request);

}  // namespace lockstep::app
