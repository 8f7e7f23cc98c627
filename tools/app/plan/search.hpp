#pragma once

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

/// Where a search stands.
struct SearchProgress {
  std::uint64_t points = 0;   // of the space (or the shard)
  std::uint64_t decided = 0;  // dropped by a rule, by memory, by a bound, or simulated
  std::uint64_t bounded = 0;  // looked at so far, before any is decided
  std::uint64_t simulated = 0;
  std::optional<double> incumbent;  // the best objective so far
  std::optional<double> gap;        // by what share nothing can be better
  bool enumerated = false;          // whether all points have been bounded
  std::optional<double> left_s;     // at the pace so far, if the best so far stays the best
};

/// A layout that was simulated.
struct SimulatedLayout {
  std::uint64_t index = 0;  // in the space
  double bound_s = 0;       // on its step time, before the simulation
  double step_s = 0;
  Duration step{};
  Bytes memory{};  // peak, of the rank that needs the most
  bool fits = true;
  bool holds = true;     // all limits
  Bytes bound_memory{};  // on its memory, before the simulation
};

/// A layout that was not simulated, because of what its program says.
struct DroppedLayout {
  enum class Why : std::uint8_t { memory, limits, not_simulated };
  std::uint64_t index = 0;
  double bound_s = 0;
  Bytes bound_memory{};
  Why why = Why::memory;
};

struct SearchOptions {
  PlanMetric objective = PlanMetric::step_time;
  std::vector<PlanMetric> pareto{};  // instead of the objective: a front
  std::vector<PlanLimit> limits{};
  PlanPrices prices{};
  WalkOptions walk{};
  std::size_t top = 5;      // best layouts that are wanted, each with a proof
  std::size_t threads = 0;  // 0: as many as cores
  std::uint64_t shard = 0;  // of `shards`, counted from 0
  std::uint64_t shards = 1;
  std::optional<std::uint64_t> most_simulated{};  // budget
  std::optional<double> most_seconds{};           // likewise
  std::function<bool()> stop{};                   // asked now and then: end with the best so far
  std::function<void(const SearchProgress&)> on_progress{};
  /// Layouts that were simulated before, by index: not simulated again.
  std::vector<SimulatedLayout> known{};
  /// Called with each newly simulated layout, in order, from one thread.
  std::function<void(const SimulatedLayout&)> on_simulated{};
};

/// How every point of a space was decided. Points whose bound exceeds the last of the best (or that
/// the front dominates) count as bounded away, whatever else is known of them: counts are the same
/// for any number of threads, restarts and shards.
struct SearchCertificate {
  std::uint64_t points = 0;
  RuleCounts rules{};
  std::uint64_t memory = 0;   // a bound on its memory, or its account, exceeds the GPU's
  std::uint64_t limits = 0;   // no layout within its bounds holds a limit
  std::uint64_t bounded = 0;  // its bound exceeds what the layouts found take
  std::uint64_t refined = 0;  // of those and the simulated: bounded by their program, too
  std::uint64_t simulated = 0;
  std::uint64_t not_simulated = 0;  // a deadlock, or more than can be simulated
  std::uint64_t undecided = 0;      // left by a budget or an interruption
  double bounding_s = 0;            // CPU seconds
  double simulating_s = 0;          // likewise
  std::uint64_t bounds = 0;         // points whose bound was worked out
  /// The least bound of an undecided point, as the objective; none where all are decided.
  std::optional<double> open_bound{};
};

/// What became of the points of one tp and pp in one setting.
struct SearchCell {
  std::size_t setting = 0;
  std::size_t tp = 0;  // place in the axis
  std::size_t pp = 0;  // likewise
  std::uint64_t points = 0;
  RuleCounts rules{};
  std::uint64_t memory = 0;
  std::uint64_t limits = 0;
  /// The objective that none of its layouts can beat; none where there is no layout.
  std::optional<double> bound{};
};

struct SearchResult {
  std::vector<SimulatedLayout> best{};   // by the objective, then by index; or the front
  std::vector<SimulatedLayout> all{};    // simulated, by index
  std::vector<DroppedLayout> dropped{};  // by index
  std::uint64_t memory_by_bound = 0;     // points of the certificate that bounds alone decided
  std::uint64_t limits_by_bound = 0;     // likewise
  SearchCertificate certificate{};
  std::vector<SearchCell> cells{};         // by setting, tp and pp
  std::vector<double> simulation_cpu_s{};  // of each layout that was simulated anew
  bool complete = true;
};

/// Finds the best layouts of a space and proves it: every point is dropped by a rule, by a lower
/// bound on its memory or time, or simulated; best bounds first, until the next bound exceeds what
/// has been found. Errors: RequestError for a metric that is unknown in this space.
[[nodiscard]] SearchResult search_space(const PlanSpace& space,
                                        const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                        const SearchOptions& options);

}  // namespace lockstep::app
