#include "tools/app/complexity/complexity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/app/collective/setup/root.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/explain/explain_stage.hpp"
#include "tools/app/explain/traffic_count.hpp"
#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

// Beyond these a point would take the engine, or the walk, too long.
constexpr std::int64_t kMostReplayed = 3'000'000;  // messages
constexpr std::int64_t kMostVisits = 200'000'000;

/// One algorithm on one number of ranks: a point, or why there is none.
struct Job {
  std::size_t algorithm = 0;
  int ranks = 0;
  std::optional<ComplexityPoint> point;
  std::vector<RequestProblem> problems;
};

class Measurer {
 public:
  explicit Measurer(const ComplexityRequest& request) : request_{request} {}

  ComplexityResult run() {
    list_jobs();
    std::vector<WorkPart> parts;
    for (const Job& job : jobs_) parts.push_back({job.algorithm, static_cast<double>(job.ranks)});
    ProgressCounter progress(request_.on_progress, std::move(parts));
    in_parallel(jobs_.size(), [&](std::size_t i) { progress.run(i, [&] { measure(jobs_[i]); }); });
    ComplexityResult out;
    for (std::size_t i = 0; i < request_.algorithms.size(); ++i) collect(i, out);
    out.setup = setup_names();
    return out;
  }

 private:
  /// The smaller half in increasing order: from these the time of the others is estimated. Of the
  /// others the largest first, so that no thread is left with one in the end.
  void list_jobs() {
    for (const AlgorithmSpec& spec : request_.algorithms)
      check_root(spec.algorithm->collective, request_.root, std::ranges::min(request_.ranks));
    std::vector<int> ranks = request_.ranks;
    std::reverse(ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2), ranks.end());
    for (const int n : ranks)
      for (std::size_t i = 0; i < request_.algorithms.size(); ++i) jobs_.push_back({i, n, {}, {}});
  }

  [[nodiscard]] ClusterRequest cluster_of(int ranks) const {
    ClusterRequest out = request_.cluster;
    if (!request_.clusters.empty()) {
      const auto place = std::ranges::find(request_.ranks, ranks) - request_.ranks.begin();
      out = request_.clusters.at(static_cast<std::size_t>(place));
    }
    out.ranks = ranks;
    return out;
  }

  [[nodiscard]] Stage stage_of(const Job& job, Bytes size) const {
    StageRequest request;
    request.cluster = cluster_of(job.ranks);
    request.network = request_.network;
    request.spec = request_.algorithms[job.algorithm];
    request.root = request_.root;
    request.size = size;
    request.type = request_.type;
    return make_stage(request);
  }

  void measure(Job& job) const {
    try {
      job.point = point_of(job);
    } catch (const RequestError& error) {
      job.problems = error.problems();
    }
  }

  [[nodiscard]] std::optional<ComplexityPoint> point_of(const Job& job) const {
    ComplexityPoint out;
    out.ranks = job.ranks;
    if (!measure_small(job, out) || !measure_large(job, out))
      throw RequestError("algorithm " + request_.algorithms[job.algorithm].text(),
                         "too many messages to count");
    return out;
  }

  bool measure_small(const Job& job, ComplexityPoint& out) const {
    const Stage stage = stage_of(job, request_.small);
    const auto count = count_traffic(*stage.schedule, stage.input.n, kMostVisits);
    if (!count) return false;
    out.rounds = count->rounds;
    if (count->messages <= kMostReplayed)
      out.small_time = replay_stage(stage, stage.setup->model()).time;
    return true;
  }

  bool measure_large(const Job& job, ComplexityPoint& out) const {
    const Stage stage = stage_of(job, request_.large);
    const auto count = count_traffic(*stage.schedule, stage.input.n, kMostVisits);
    if (!count) return false;
    out.messages = count->messages;
    out.busiest = stage.layout.block * count->busiest_blocks;
    out.busiest_rank = stage.layout.block * count->busiest_sender_blocks;
    out.total = stage.layout.block * count->total_blocks;
    if (count->messages <= kMostReplayed)
      out.large_time = replay_stage(stage, stage.setup->model()).time;
    return true;
  }

  [[nodiscard]] std::vector<const Job*> by_ranks(std::size_t algorithm) const {
    std::vector<const Job*> out;
    for (const Job& job : jobs_)
      if (job.algorithm == algorithm) out.push_back(&job);
    std::sort(out.begin(), out.end(),
              [](const Job* a, const Job* b) { return a->ranks < b->ranks; });
    return out;
  }

  void collect(std::size_t algorithm, ComplexityResult& out) const {
    ComplexityOutcome outcome;
    outcome.spec = request_.algorithms[algorithm];
    std::vector<const Job*> without;
    for (const Job* job : by_ranks(algorithm)) {
      if (job->point) {
        outcome.points.push_back(*job->point);
      } else {
        without.push_back(job);
      }
    }
    if (outcome.points.empty() && !request_.every_row)
      throw RequestError(without.front()->problems);
    if (!without.empty())
      out.unmeasured.push_back({outcome.spec, outcome.points.empty(), without.size(),
                                without.front()->ranks, without.front()->problems.front()});
    fit(outcome);
    if (!outcome.points.empty()) out.outcomes.push_back(std::move(outcome));
  }

  static void fit(ComplexityOutcome& outcome) {
    const auto of = [&](const auto& value_of) {
      std::vector<GrowthPoint> points;
      for (const ComplexityPoint& point : outcome.points)
        if (const std::optional<double> value = value_of(point))
          points.push_back({static_cast<double>(point.ranks), *value});
      return fit_growth(points);
    };
    using Value = std::optional<double>;
    const auto seconds = [](const std::optional<Duration>& time) {
      return time ? Value{time->seconds()} : Value{};
    };
    outcome.rounds = of(
        [](const auto& p) { return p.rounds ? Value{static_cast<double>(*p.rounds)} : Value{}; });
    outcome.busiest =
        of([](const auto& p) { return Value{static_cast<double>(p.busiest.count())}; });
    outcome.total = of([](const auto& p) { return Value{static_cast<double>(p.total.count())}; });
    const AuxiliaryRanks auxiliary = outcome.spec.algorithm->auxiliary_ranks;
    const bool switches =
        auxiliary == AuxiliaryRanks::node_switches || auxiliary == AuxiliaryRanks::fabric_switches;
    const auto bytes = of([&](const auto& p) {
      return Value{static_cast<double>((switches ? p.busiest_rank : p.busiest).count())};
    });
    if (outcome.rounds && bytes)
      outcome.asymptotic_time = std::max(outcome.rounds->growth, bytes->growth);
    outcome.small_time = of([&](const auto& p) { return seconds(p.small_time); });
    outcome.large_time = of([&](const auto& p) { return seconds(p.large_time); });
  }

  [[nodiscard]] std::optional<SetupNames> setup_names() const {
    const auto less = [](const Job& a, const Job& b) {
      return std::pair{a.point.has_value(), a.ranks} < std::pair{b.point.has_value(), b.ranks};
    };
    const auto largest = std::max_element(jobs_.begin(), jobs_.end(), less);
    if (largest == jobs_.end() || !largest->point) return std::nullopt;
    return CollectiveSetup(cluster_of(largest->ranks), request_.network, {}).names();
  }

  const ComplexityRequest& request_;
  std::vector<Job> jobs_;
};

}  // namespace

ComplexityResult measure_complexity(const ComplexityRequest& request) {
  return Measurer(request).run();
}

}  // namespace lockstep::app
