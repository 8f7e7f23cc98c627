#include "tools/app/campaign/interval_search.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/check.hpp"
#include "tools/app/campaign/replicate/replicate.hpp"
#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

constexpr double kWorstRatio = 3;  // of the expected time to the best one, to be simulated
constexpr int kOctaves = 3;
constexpr int kPerOctave = 4;
constexpr int kFinePerOctave = 16;

class Search {
 public:
  explicit Search(const IntervalSearchRequest& request) : request_{request} {
    best_time_ = exponential_time(exponential_interval(request.inputs), request.inputs);
  }

  [[nodiscard]] IntervalSearch run() {
    const double center = exponential_interval(request_.inputs);
    std::set<std::int64_t> steps(request_.also.begin(), request_.also.end());
    for (int i = -kOctaves * kPerOctave; i <= kOctaves * kPerOctave; ++i)
      steps.insert(whole_steps(center * std::exp2(double{1} / kPerOctave * i), request_.step_s,
                               request_.most_steps));
    simulate(steps);
    steps.clear();
    const auto near = static_cast<double>(out_.points[out_.best].steps);
    for (int i = -kFinePerOctave / kPerOctave; i <= kFinePerOctave / kPerOctave; ++i)
      steps.insert(std::clamp<std::int64_t>(
          std::llround(near * std::exp2(double{1} / kFinePerOctave * i)), 1, request_.most_steps));
    simulate(steps);
    find_flat();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_known(std::int64_t steps) const {
    return std::ranges::any_of(out_.points,
                               [&](const IntervalPoint& p) { return p.steps == steps; });
  }
  /// Hopeless intervals cost the most time.
  [[nodiscard]] bool is_hopeful(std::int64_t steps) const {
    const double interval = static_cast<double>(steps) * request_.step_s;
    return exponential_time(interval, request_.inputs) <= kWorstRatio * best_time_;
  }

  void simulate(const std::set<std::int64_t>& steps) {
    std::vector<std::int64_t> open;
    for (const std::int64_t each : steps)
      if (!is_known(each) && is_hopeful(each)) open.push_back(each);
    std::vector<std::vector<Replicate>> found(request_.replicates);
    in_parallel(
        request_.replicates,
        [&](std::size_t replicate) {
          CampaignJob job = request_.job;
          EventTrace failures{job.failures, replicate};
          for (const std::int64_t each : open) {
            job.interval = time_of_steps(each, request_.step_s);
            found[replicate].push_back(simulate_replicate(job, replicate, failures));
          }
        },
        request_.threads);
    for (std::size_t i = 0; i < open.size(); ++i) add(open[i], i, found);
    std::ranges::sort(out_.points, {}, &IntervalPoint::steps);
    out_.best = static_cast<std::size_t>(
        std::ranges::max_element(out_.points, {}, &IntervalPoint::goodput) - out_.points.begin());
  }

  void add(std::int64_t steps, std::size_t index,
           const std::vector<std::vector<Replicate>>& found) {
    double productive = 0;
    double wall = 0;
    for (const auto& of : found) {
      productive += of[index].times[TimeBucket::productive].seconds();
      wall += of[index].wall().seconds();
    }
    out_.points.push_back({steps, wall > 0 ? productive / wall : 1});
  }

  void find_flat() {
    const auto enough = [&](std::size_t i) {
      return out_.points[i].goodput >= out_.points[out_.best].goodput - kFlatGoodput;
    };
    std::size_t from = out_.best;
    while (from > 0 && enough(from - 1)) --from;
    std::size_t to = out_.best;
    while (to + 1 < out_.points.size() && enough(to + 1)) ++to;
    out_.flat_from = out_.points[from].steps;
    out_.flat_to = out_.points[to].steps;
  }

  const IntervalSearchRequest& request_;
  double best_time_ = 0;
  IntervalSearch out_;
};

}  // namespace

double IntervalSearch::goodput_at(std::int64_t steps) const {
  for (const IntervalPoint& each : points)
    if (each.steps == steps) return each.goodput;
  return 0;
}

IntervalSearch search_interval(const IntervalSearchRequest& request) {
  return Search{request}.run();
}

std::int64_t whole_steps(double seconds, double step_s, std::int64_t most) {
  const double steps = seconds / step_s;
  if (!(steps > 1)) return 1;
  return steps < static_cast<double>(most) ? std::llround(steps) : most;
}

LongTime time_of_steps(std::int64_t steps, double step_s) {
  return std::max(LongTime::seconds(static_cast<double>(steps) * step_s),
                  LongTime::microseconds(1));
}

}  // namespace lockstep::app
