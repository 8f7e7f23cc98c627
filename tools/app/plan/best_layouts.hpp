#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tools/app/plan/search.hpp"

namespace lockstep::app {

/// Sort key of a point: objective (less is better), then index.
struct PointRank {
  double value = 0;
  std::uint64_t index = 0;

  friend bool operator==(const PointRank&, const PointRank&) = default;
  friend auto operator<=>(const PointRank&, const PointRank&) = default;
};

/// The best simulated layouts so far, or their Pareto front, and the pruning test against them.
class BestLayouts {
 public:
  /// The arguments must outlive this object.
  BestLayouts(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
              const SearchOptions& options);

  /// Uses the objective; for a front its first metric.
  [[nodiscard]] PointRank rank_of(std::uint64_t index, const PlanPoint& point) const;
  /// Inserts a layout that fits and satisfies all limits if it is among the best so far.
  void add(const SimulatedLayout& layout);
  /// Whether a point with these bounds cannot be among the best: it sorts after the last of them by
  /// (objective, index), or the front dominates it.
  [[nodiscard]] bool excludes(std::uint64_t index, const PlanPoint& bound) const;
  /// Whether excludes() holds for this rank and all later ones; always false for a front.
  [[nodiscard]] bool excludes(const PointRank& rank) const;
  /// Sorted by objective and index; a front by its scores.
  [[nodiscard]] std::vector<SimulatedLayout> list() const;
  /// Objective of the best layout; none if nothing was found yet.
  [[nodiscard]] std::optional<double> value() const;

 private:
  struct Best {
    PointRank rank;
    SimulatedLayout layout;

    friend bool operator<(const Best& a, const Best& b) { return a.rank < b.rank; }
  };
  using Scores = std::vector<double>;  // less is better
  struct FrontLayout {
    Scores scores;
    SimulatedLayout layout;
  };

  [[nodiscard]] bool has_front() const { return !options_.pareto.empty(); }
  [[nodiscard]] const PlanSetting& setting_of(std::uint64_t index) const;
  [[nodiscard]] double score(PlanMetric metric, std::uint64_t index, const PlanPoint& point) const;
  [[nodiscard]] Scores scores(std::uint64_t index, const PlanPoint& point) const;
  [[nodiscard]] bool is_dominated(const Scores& scores) const;

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  std::set<Best> best_;
  std::vector<FrontLayout> front_;
};

/// Completes the counts of the certificate. Input: its points, rules and undecided points, the
/// points decided by bounds alone, and the simulated and dropped layouts. A layout that the best do
/// not exclude counts by its own outcome, every other as bounded away.
void count_points(const BestLayouts& best, SearchResult& result);

}  // namespace lockstep::app
