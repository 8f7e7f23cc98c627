#include "tools/app/collective/crossover.hpp"

#include <algorithm>
#include <optional>

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
    std::vector<Winner> winners(counts.size());
    ProgressCounter progress(request_.on_progress, counts.size());
    in_parallel(counts.size(), [&](std::size_t i) {
      winners[i] = winner(begin, end, counts[i]);
      progress.step();
    });
    CollectiveCrossovers out{
        candidates_[begin].collective, bytes(counts.front()), winners.front().candidate, {}};
    for (std::size_t i = 1; i < counts.size(); ++i) {
      Point low{counts[i - 1], winners[i - 1]};
      const Point high{counts[i], winners[i]};
      while (low.winner.candidate != high.winner.candidate) {
        const Crossover change = bisect(begin, end, low, high);
        out.changes.push_back(change);
        fingerprint.add(change.count);
        fingerprint.add(change.to_time.ps());
        low = {change.count, {change.to, change.to_time}};
      }
    }
    return out;
  }

  struct Point {
    std::int64_t count = 0;
    Winner winner;
  };

  /// Where the winner at `low` stops leading.
  [[nodiscard]] Crossover bisect(std::size_t begin, std::size_t end, Point low, Point high) const {
    while (high.count - low.count > 1) {
      const std::int64_t middle = low.count + (high.count - low.count) / 2;
      const Winner there = winner(begin, end, middle);
      (there.candidate == low.winner.candidate ? low : high) = {middle, there};
    }
    return {high.count,
            bytes(high.count),
            low.winner.candidate,
            high.winner.candidate,
            time_of(low.winner.candidate, high.count),
            high.winner.time};
  }

  [[nodiscard]] Winner winner(std::size_t begin, std::size_t end, std::int64_t count) const {
    std::optional<Winner> best;
    for (std::size_t c = begin; c < end; ++c) {
      const Duration time = time_of(c, count);
      if (!best || time < best->time) best = Winner{c, time};
    }
    return *best;
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
  std::vector<std::string> left_out_;
  CollectiveRunner runner_;
  std::vector<Candidate> candidates_;
};

}  // namespace

CrossoverReport find_crossovers(const CollectiveRequest& request) {
  return CrossoverSearch(request).run();
}

}  // namespace lockstep::app
