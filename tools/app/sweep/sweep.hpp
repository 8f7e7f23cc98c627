#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/app/plan/space.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/variants.hpp"
#include "tools/app/sweep/sweep_grid.hpp"

/// Simulates a training step at every point of a grid of scenario values.
namespace lockstep::app {

enum class SweepOutcome : std::uint8_t { simulated, misfit, impossible };

/// With what a step was simulated.
struct SweepDraws {
  std::set<int> ranks{};  // that were drawn, or whose speed was
  RankSpeeds speeds{};    // of these
  std::int64_t of = 0;    // ranks of the step
  std::uint64_t seed = 0;
  Fidelity fidelity = Fidelity::all_ranks;
};

/// Result of a point as plain values; absent where it has none.
struct SweepRow {
  std::optional<std::int64_t> dp{};
  std::optional<double> step_s{};
  std::optional<std::int64_t> step_ps{};
  std::optional<double> tokens_per_s{};
  std::optional<double> mfu{};
  std::optional<double> exposed{};       // exposed communication as a fraction of the step
  std::optional<double> bubble{};        // as a fraction of the step
  std::optional<std::int64_t> memory{};  // bytes
  std::optional<std::int64_t> margin{};  // bytes free
  std::optional<MemoryFit> fit{};        // none: impossible
  std::string problem{};                 // message of the error that makes it impossible
  SweepOutcome outcome = SweepOutcome::simulated;
  std::optional<SweepDraws> draws{};  // of a simulated point
};

/// Memory and problem as one word for tables and stores: "fits", "impossible: ...".
[[nodiscard]] std::string state_of(const SweepRow& row);

/// A point of a sweep, simulated as `run` would. Its name is "cluster.nodes=8, parallel.tp=2".
struct SweepPoint {
  std::uint64_t index = 0;          // row-major: the last axis varies fastest
  std::vector<std::string> values;  // one per key, as written
  /// Result, memory shortfall, or problem. Its overrides are all that were applied, those of the
  /// request first.
  VariantResult step;
  SweepRow row{};
};

struct SweepRequest {
  /// Scenario or model and cluster, overrides, and the axes (`vary`, `fix`) without a space file.
  SpaceRequest space{};
  /// What-ifs, network, fidelity, calibration; its scenario and overrides are those of `space`.
  TrainingStepRequest step{};
  std::size_t threads = 0;       // 0: as many as cores
  std::function<bool()> stop{};  // polled; true ends the sweep with the points so far
  OnProgress on_progress{};
  /// Known points, not simulated again; they have a row and no step.
  std::map<std::uint64_t, SweepRow> known{};
  /// Called with each point in index order, from one thread.
  std::function<void(const SweepPoint&)> on_point{};
  std::function<void()> on_batch{};  // after each batch of points, from the same thread
};

struct SweepResult {
  std::string name;               // of the scenario
  std::vector<std::string> axes;  // keys: "cluster.nodes"
  std::uint64_t points = 0;       // of the grid
  std::uint64_t simulated = 0;    // points with a step time
  std::uint64_t misfits = 0;      // points that do not fit into memory
  std::uint64_t impossible = 0;   // invalid scenarios and deadlocks
  bool dp_follows = false;        // dp = GPUs / (tp * pp * cp)
  bool complete = true;           // false: stopped
};

/// Simulates every point. dp = GPUs / (tp * pp * cp) unless it is varied or set.
/// Errors: RequestError for invalid axes and for more than kMostSweepPoints points; ConfigError, of
/// the first point, if no point is a valid scenario.
[[nodiscard]] SweepResult sweep(const SweepRequest& request);

}  // namespace lockstep::app
