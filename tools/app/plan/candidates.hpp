#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tools/app/plan/best_layouts.hpp"
#include "tools/app/plan/plan_contexts.hpp"
#include "tools/app/plan/search.hpp"

namespace lockstep::app {

/// A point that no rule is against, with bounds on its time and memory.
struct PlanCandidate {
  PointRank rank{};  // no layout of this point has a better one
  std::int64_t bound_ps = 0;
  std::int64_t memory = 0;

  [[nodiscard]] PlanPoint bound() const {
    return {Duration::picoseconds(bound_ps).seconds(), Bytes{memory}};
  }
  friend bool operator<(const PlanCandidate& a, const PlanCandidate& b) { return a.rank < b.rank; }
  friend bool operator>(const PlanCandidate& a, const PlanCandidate& b) { return b < a; }
};

/// What bounding all points of a range came to.
struct CandidateList {
  std::vector<PlanCandidate> kept{};  // sorted
  RuleCounts rules{};
  std::uint64_t memory = 0;  // points that bounds on memory drop
  std::uint64_t limits = 0;  // likewise, limits
  std::uint64_t bounds = 0;  // points whose bounds were worked out
  double cpu_s = 0;
  /// The first of those that were not kept because there were too many.
  std::optional<PointRank> left_out{};
  std::vector<SearchCell> cells{};
  bool complete = true;
};

/// Goes through the points of a range and bounds them.
class CandidateFinder {
 public:
  /// Whether a point is not to be kept; asked by several threads.
  using Skips = std::function<bool(const PointRank&)>;

  /// All must outlive it. `best`: for the ranks of points. `must_stop`: asked by several threads.
  CandidateFinder(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
                  const SearchOptions& options, const BestLayouts& best, PlanContexts& contexts,
                  PointRange range, std::function<bool()> must_stop);

  /// Called with the number of points that are done; by one thread at a time.
  void on_points(std::function<void(std::uint64_t)> report) { report_ = std::move(report); }

  [[nodiscard]] CandidateList find(const Skips& skips);

 private:
  /// Points of one setting, tp and pp.
  struct Slice {
    std::size_t setting = 0;
    std::size_t tp = 0;  // place in the axis
    std::size_t pp = 0;  // likewise
  };
  struct SliceCandidates {
    CandidateList list;
    std::optional<double> least;  // of all bounded points
  };

  [[nodiscard]] std::vector<Slice> parts() const;
  [[nodiscard]] SliceCandidates find_in(const Slice& part, std::size_t room, const Skips& skips);
  void take(PlanContext& context, const WalkedLayout& layout, const Skips& skips,
            SliceCandidates& out) const;
  void report(std::uint64_t first, std::uint64_t count);
  static void trim(CandidateList& list, std::size_t room);
  [[nodiscard]] SearchCell cell(const Slice& part, std::uint64_t first,
                                const SliceCandidates& found) const;

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  const BestLayouts& best_;
  PlanContexts& contexts_;
  PointRange range_;
  std::function<bool()> must_stop_;
  std::function<void(std::uint64_t)> report_;
  std::mutex mutex_;  // of what follows
  std::uint64_t done_ = 0;
};

/// CPU time of this thread.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace lockstep::app
