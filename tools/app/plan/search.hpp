#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/app/plan/metric.hpp"
#include "tools/app/plan/walk.hpp"

namespace lockstep::app {

/// Progress of a search.
struct SearchProgress {
  std::uint64_t points = 0;   // of the space (or the shard)
  std::uint64_t decided = 0;  // dropped by a rule, by memory, by a bound, or simulated
  std::uint64_t bounded = 0;  // bounded so far, in the enumeration phase
  std::uint64_t simulated = 0;
  std::optional<double> incumbent;  // the best objective so far
  std::optional<double> gap;        // relative optimality gap, as a fraction
  bool enumerated = false;          // whether all points have been bounded
  std::optional<double> left_s;     // estimated time left, if the incumbent stays
};

/// A simulated layout.
struct SimulatedLayout {
  std::uint64_t index = 0;  // in the space
  double bound_s = 0;       // lower bound on its step time
  double step_s = 0;
  Duration step{};
  Bytes memory{};  // peak, of the rank that needs the most
  bool fits = true;
  bool holds = true;     // whether it satisfies all limits
  Bytes bound_memory{};  // lower bound on its memory
};

/// A layout dropped after its program was built, without a simulation.
struct DroppedLayout {
  enum class Why : std::uint8_t { memory, limits, not_simulated };
  std::uint64_t index = 0;
  double bound_s = 0;
  Bytes bound_memory{};
  Why why = Why::memory;
};

struct SearchOptions {
  PlanMetric objective = PlanMetric::step_time;
  std::vector<PlanMetric> pareto{};  // metrics of a Pareto front, instead of the objective
  std::vector<PlanLimit> limits{};
  PlanPrices prices{};
  WalkOptions walk{};
  std::size_t top = 5;      // number of best layouts to prove
  std::size_t threads = 0;  // 0: as many as cores
  std::uint64_t shard = 0;  // of `shards`, counted from 0
  std::uint64_t shards = 1;
  std::optional<std::uint64_t> most_simulated{};  // budget
  std::optional<double> most_seconds{};           // budget; at most half of it to bound points
  /// Per layout key, values with which a large space is searched first, so that there is a result
  /// early; empty: all.
  LayoutDigits first_look{};
  std::uint64_t large = 20'000'000;  // points of a large space: fewer are bounded in a few seconds
  std::function<bool()> stop{};      // polled; true ends the search with the best so far
  std::function<void(const SearchProgress&)> on_progress{};
  /// Layouts simulated earlier, by index; not simulated again.
  std::vector<SimulatedLayout> known{};
  /// Called with each newly simulated layout, in order, from one thread.
  std::function<void(const SimulatedLayout&)> on_simulated{};
};

/// How every point of a space was decided. Points whose bound exceeds the last of the best (or that
/// the front dominates) count as bounded away even if simulated, so that counts do not depend on
/// threads, restarts and shards.
struct SearchCertificate {
  std::uint64_t points = 0;
  RuleCounts rules{};
  std::uint64_t memory = 0;   // its memory bound or memory account exceeds the GPU's
  std::uint64_t limits = 0;   // its bounds violate a limit
  std::uint64_t bounded = 0;  // its bound exceeds the best layouts found
  std::uint64_t refined = 0;  // of those and the simulated: also bounded from their program
  std::uint64_t simulated = 0;
  std::uint64_t not_simulated = 0;  // deadlock, or too large to simulate
  std::uint64_t undecided = 0;      // left undecided by a budget or an interruption
  std::uint64_t unvisited = 0;      // of these, not even bounded
  double bounding_s = 0;            // CPU seconds
  double simulating_s = 0;          // CPU seconds
  std::uint64_t bounds = 0;         // points with computed bounds
  /// Least objective bound of an undecided point; none if all are decided, or some unvisited.
  std::optional<double> open_bound{};
};

/// Outcome of the points of one setting with fixed tp and pp.
struct SearchCell {
  std::size_t setting = 0;
  std::size_t tp = 0;  // index in the axis
  std::size_t pp = 0;  // index in the axis
  std::uint64_t points = 0;
  RuleCounts rules{};
  std::uint64_t memory = 0;
  std::uint64_t limits = 0;
  /// Lower bound on the objective of its layouts; none if it has no layout.
  std::optional<double> bound{};
};

struct SearchResult {
  std::vector<SimulatedLayout> best{};   // by the objective, then by index; or the front
  std::vector<SimulatedLayout> all{};    // simulated, by index
  std::vector<DroppedLayout> dropped{};  // by index
  std::uint64_t memory_by_bound = 0;     // points decided by bounds alone
  std::uint64_t limits_by_bound = 0;     // points decided by bounds alone
  SearchCertificate certificate{};
  std::vector<SearchCell> cells{};         // by setting, tp and pp
  std::vector<double> simulation_cpu_s{};  // per layout simulated in this search
  bool complete = true;
};

/// Finds the best layouts of a space with a certificate: every point is dropped by a rule, dropped
/// by a lower bound on its memory or time, or simulated. Simulates in order of bounds until the
/// next bound exceeds the best found. Errors: RequestError for a metric whose inputs are unknown in
/// this space.
[[nodiscard]] SearchResult search_space(const PlanSpace& space,
                                        const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                        const SearchOptions& options);

}  // namespace lockstep::app
