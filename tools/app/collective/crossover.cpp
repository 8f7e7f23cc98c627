#include "tools/app/collective/crossover.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tools/app/collective/run_collective.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

struct Winner {
  std::size_t candidate = 0;
  Duration time;
};

/// Sizes are counted in elements: nothing changes within one.
class CrossoverSearch {
 public:
  explicit CrossoverSearch(const CollectiveRequest& request)
      : request_{request},
        setup_{setup_for(request)},
        runner_{*setup_, request.runner_options()},
        candidates_{allowed(request, runner_, left_out_)} {}

  CrossoverReport run() {
    CrossoverReport out;
    Fingerprint fingerprint;
    for (std::size_t begin = 0; begin < candidates_.size();) {
      const Collective collective = candidates_[begin].collective;
      std::size_t end = begin;
      while (end < candidates_.size() && candidates_[end].collective == collective) ++end;
      out.collectives.push_back(crossovers_among(begin, end, fingerprint));
      begin = end;
    }
    out.setup = setup_;
    out.candidates = std::move(candidates_);
    out.left_out = std::move(left_out_);
    out.fingerprint = fingerprint.text();
    return out;
  }

 private:
  [[nodiscard]] CollectiveCrossovers crossovers_among(std::size_t begin, std::size_t end,
                                                      Fingerprint& fingerprint) {
    const std::vector<std::int64_t> counts = counts_of_sizes();
    Evaluation evaluation{begin, end, counts.size() * (end - begin)};
    ProgressCounter progress(request_.on_progress, parts(evaluation, kPresumedSteps));
    evaluation.progress = &progress;
    const std::vector<Winner> winners = winners_at(counts, evaluation);
    std::vector<Interval> intervals;
    for (std::size_t i = 1; i < counts.size(); ++i)
      if (winners[i - 1].candidate != winners[i].candidate)
        intervals.push_back({{counts[i - 1], winners[i - 1]}, {counts[i], winners[i]}, {}});
    bisect_all(intervals, evaluation);
    CollectiveCrossovers out{
        candidates_[begin].collective, bytes(counts.front()), winners.front().candidate, {}};
    for (const Interval& interval : intervals)
      for (const Crossover& change : interval.changes) {
        out.changes.push_back(change);
        fingerprint.add(change.count);
        fingerprint.add(change.to_time.ps());
      }
    return out;
  }

  struct Point {
    std::int64_t count = 0;
    Winner winner;
  };

  /// Neighboring sizes with different winners, and the changes between them.
  struct Interval {
    Point low;
    Point high;
    std::vector<Crossover> changes;
  };

  /// The candidates that are compared, and the simulations that are counted: of all of them at the
  /// sizes of the request, then at each step of a bisection.
  struct Evaluation {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t next = 0;     // part; at first the first of the bisections
    std::size_t planned = 0;  // parts
    ProgressCounter* progress = nullptr;

    [[nodiscard]] std::size_t candidates() const { return end - begin; }
  };

  // Before the winners are known: as of four crossovers.
  static constexpr std::size_t kPresumedSteps = 60;

  /// Those at the sizes, and of so many steps.
  static std::vector<WorkPart> parts(const Evaluation& of, std::size_t steps) {
    std::vector<WorkPart> out;
    for (std::size_t i = 0; i < of.next + steps * of.candidates(); ++i)
      out.push_back({i % of.candidates()});
    return out;
  }

  static void plan_steps(Evaluation& of, std::size_t steps) {
    const std::vector<WorkPart> all = parts(of, steps);
    of.progress->set_rest(of.next, {all.begin() + static_cast<std::ptrdiff_t>(of.next), all.end()});
    of.planned = all.size();
  }

  [[nodiscard]] std::vector<Winner> winners_at(const std::vector<std::int64_t>& counts,
                                               const Evaluation& of) const {
    const std::size_t candidates = of.candidates();
    const std::vector<std::size_t> order = spread_order(counts.size());
    std::vector<Duration> times(of.next);
    in_parallel(times.size(), [&](std::size_t part) {
      const std::size_t size = order[part / candidates];
      const std::size_t one = part % candidates;
      of.progress->run(
          part, [&] { times[size * candidates + one] = time_of(of.begin + one, counts[size]); });
    });
    std::vector<Winner> out;
    for (std::size_t size = 0; size < counts.size(); ++size)
      out.push_back(fastest_of(times.begin() + static_cast<std::ptrdiff_t>(size * candidates), of));
    return out;
  }

  /// The first of the fastest.
  static Winner fastest_of(std::vector<Duration>::const_iterator times, const Evaluation& of) {
    const auto end = times + static_cast<std::ptrdiff_t>(of.candidates());
    const auto best = std::min_element(times, end);
    return {of.begin + static_cast<std::size_t>(best - times), *best};
  }

  void bisect_all(std::vector<Interval>& intervals, Evaluation& of) const {
    std::size_t steps = 0;
    for (const Interval& interval : intervals)
      steps += static_cast<std::size_t>(
          std::bit_width(static_cast<std::uint64_t>(interval.high.count - interval.low.count - 1)));
    plan_steps(of, steps);
    for (Interval& interval : intervals) {
      Point low = interval.low;
      while (low.winner.candidate != interval.high.winner.candidate) {
        const Crossover change = bisect(low, interval.high, of);
        interval.changes.push_back(change);
        low = {change.count, {change.to, change.to_time}};
      }
    }
    plan_steps(of, 0);
  }

  /// Where the winner at `low` stops leading.
  [[nodiscard]] Crossover bisect(Point low, Point high, Evaluation& of) const {
    while (high.count - low.count > 1) {
      const std::int64_t middle = low.count + (high.count - low.count) / 2;
      const Winner there = winner(middle, of);
      (there.candidate == low.winner.candidate ? low : high) = {middle, there};
    }
    return {high.count,
            bytes(high.count),
            low.winner.candidate,
            high.winner.candidate,
            time_of(low.winner.candidate, high.count),
            high.winner.time};
  }

  [[nodiscard]] Winner winner(std::int64_t count, Evaluation& of) const {
    if (of.next == of.planned) plan_steps(of, 1);  // a third candidate leads in between
    std::vector<Duration> times(of.candidates());
    in_parallel(times.size(), [&](std::size_t c) {
      of.progress->run(of.next + c, [&] { times[c] = time_of(of.begin + c, count); });
    });
    of.next += times.size();
    return fastest_of(times.begin(), of);
  }

  [[nodiscard]] Duration time_of(std::size_t candidate, std::int64_t count) const {
    const Candidate& one = candidates_[candidate];
    const CollectiveResult replayed = runner_.replay(one, runner_.prepare(one, bytes(count)));
    if (!replayed.unfinished.empty()) throw Refusal(replayed.unfinished);
    return replayed.time;
  }

  [[nodiscard]] Bytes bytes(std::int64_t count) const { return count * request_.type->size; }

  [[nodiscard]] std::vector<std::int64_t> counts_of_sizes() const {
    std::vector<std::int64_t> out;
    for (const Bytes size : request_.sizes) {
      const std::int64_t count = size.count() / request_.type->size.count();
      if (out.empty() || count > out.back()) out.push_back(count);
    }
    return out;
  }

  const CollectiveRequest& request_;
  std::shared_ptr<const CollectiveSetup> setup_;
  std::vector<RequestProblem> left_out_;
  CollectiveRunner runner_;
  std::vector<Candidate> candidates_;
};

}  // namespace

CrossoverReport find_crossovers(const CollectiveRequest& request) {
  return CrossoverSearch(request).run();
}

}  // namespace lockstep::app
