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

/// A valid point with lower bounds on its time and memory.
struct PlanCandidate {
  PointRank rank{};  // lower bound on its rank
  std::int64_t bound_ps = 0;
  std::int64_t memory = 0;

  [[nodiscard]] PlanPoint bound() const {
    return {Duration::picoseconds(bound_ps).seconds(), Bytes{memory}};
  }
  friend bool operator<(const PlanCandidate& a, const PlanCandidate& b) { return a.rank < b.rank; }
  friend bool operator>(const PlanCandidate& a, const PlanCandidate& b) { return b < a; }
};

/// Result of bounding all points of a range.
struct CandidateList {
  std::vector<PlanCandidate> kept{};  // sorted
  RuleCounts rules{};
  std::uint64_t memory = 0;  // points dropped by the memory bound
  std::uint64_t limits = 0;  // points dropped by a limit
  std::uint64_t bounds = 0;  // points with computed bounds
  double cpu_s = 0;
  /// Rank of the first point that was discarded because too many were kept.
  std::optional<PointRank> left_out{};
  std::vector<SearchCell> cells{};
  std::uint64_t unvisited = 0;  // points that were not looked at before the search had to stop
  bool complete = true;
};

/// Enumerates the points of a range and bounds them.
class CandidateFinder {
 public:
  /// Whether to discard a point; called from several threads.
  using Skips = std::function<bool(const PointRank&)>;

  /// The arguments must outlive this object. `best`: ranks points. `must_stop`: called from several
  /// threads.
  CandidateFinder(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
                  const SearchOptions& options, const BestLayouts& best, PlanContexts& contexts,
                  PointRange range, std::function<bool()> must_stop);

  /// Called with the number of finished points, by one thread at a time.
  void on_points(std::function<void(std::uint64_t)> report) { report_ = std::move(report); }

  [[nodiscard]] CandidateList find(const Skips& skips);

 private:
  /// The points of one setting with fixed tp and pp.
  struct Slice {
    std::size_t setting = 0;
    std::size_t tp = 0;  // index in the axis
    std::size_t pp = 0;  // index in the axis
  };
  struct SliceCandidates {
    CandidateList list;
    std::optional<double> least;  // over all bounded points
  };

  [[nodiscard]] std::vector<Slice> parts() const;
  [[nodiscard]] SliceCandidates find_in(const Slice& part, PointRange points, std::size_t room,
                                        const Skips& skips);
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
  std::mutex mutex_;  // guards the following members
  std::uint64_t done_ = 0;
};

/// CPU time of the calling thread.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace lockstep::app
