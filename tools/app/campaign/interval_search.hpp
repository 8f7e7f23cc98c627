#pragma once

#include <cstdint>
#include <vector>

#include "tools/app/campaign/intervals.hpp"
#include "tools/app/campaign/replicate/campaign_job.hpp"

namespace lockstep::app {

/// Goodput of all replicates together at one checkpoint interval.
struct IntervalPoint {
  std::int64_t steps = 1;  // between saves
  double goodput = 0;
};

struct IntervalSearch {
  std::vector<IntervalPoint> points{};  // ascending
  std::size_t best = 0;                 // index of the highest goodput
  /// The intervals around the best that cost less than kFlatGoodput, in steps.
  std::int64_t flat_from = 1;
  std::int64_t flat_to = 1;

  [[nodiscard]] bool empty() const { return points.empty(); }
  /// The goodput at an interval that was simulated.
  [[nodiscard]] double goodput_at(std::int64_t steps) const;
};
inline constexpr double kFlatGoodput = 0.001;

struct IntervalSearchRequest {
  CampaignJob job{};
  IntervalInputs inputs{};
  double step_s = 0;
  std::int64_t most_steps = 1;       // between saves: those of the whole training
  std::vector<std::int64_t> also{};  // intervals to simulate besides, in steps
  std::size_t replicates = 0;
  std::size_t threads = 0;
};

/// Simulates the same replicates at intervals from an eighth to eight times the exponential
/// optimum, then between the neighbors of the best, to 4 %.
[[nodiscard]] IntervalSearch search_interval(const IntervalSearchRequest& request);

/// Whole steps nearest to a time, from one to `most`.
[[nodiscard]] std::int64_t whole_steps(double seconds, double step_s, std::int64_t most);
[[nodiscard]] LongTime time_of_steps(std::int64_t steps, double step_s);

}  // namespace lockstep::app
