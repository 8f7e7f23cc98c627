#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tools/app/plan/search.hpp"

namespace lockstep::app {

/// Where a point stands by its objective, less is better: of equal ones the smaller index is first.
struct PointRank {
  double value = 0;
  std::uint64_t index = 0;

  friend bool operator==(const PointRank&, const PointRank&) = default;
  friend auto operator<=>(const PointRank&, const PointRank&) = default;
};

/// The best simulated layouts of a space, or their front, and what bounds say against them.
class BestLayouts {
 public:
  /// All must outlive it.
  BestLayouts(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
              const SearchOptions& options);

  /// By the objective; of a front by its first metric.
  [[nodiscard]] PointRank rank_of(std::uint64_t index, const PlanPoint& point) const;
  /// Takes what fits and holds all limits, if it belongs to the best so far.
  void add(const SimulatedLayout& layout);
  /// Whether a point of these bounds can be none of the best: its objective, or its index where
  /// that is the same, is behind the last of them; or the front dominates it.
  [[nodiscard]] bool excludes(std::uint64_t index, const PlanPoint& bound) const;
  /// Whether so is a point of this rank and all after it; never with a front.
  [[nodiscard]] bool excludes(const PointRank& rank) const;
  /// By objective and index; a front by its scores.
  [[nodiscard]] std::vector<SimulatedLayout> list() const;
  /// The objective of the best; none without one.
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

/// Completes the counts of the certificate from its points, rules and undecided, what bounds alone
/// decided, and the simulated and dropped layouts: those that the best do not exclude count as what
/// became of them, all the rest as bounded away.
void count_points(const BestLayouts& best, SearchResult& result);

}  // namespace lockstep::app
