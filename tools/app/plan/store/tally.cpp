#include "tools/app/plan/store/tally.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::app {

namespace {

using Scores = std::vector<double>;  // less is better

/// Whether `a` is at least as good in everything and better in something.
[[nodiscard]] bool dominates(const Scores& a, const Scores& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

class Tally {
 public:
  Tally(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
        const SearchOptions& options)
      : space_{space}, settings_{settings}, options_{options} {}

  /// The best of these, or their front.
  [[nodiscard]] std::vector<SimulatedLayout> best_of(const std::vector<SimulatedLayout>& all) {
    std::vector<std::pair<Scores, SimulatedLayout>> found;
    for (const SimulatedLayout& each : all)
      if (each.fits && each.holds)
        found.emplace_back(scores(each.index, {each.step_s, each.memory}), each);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.index < b.second.index;
    });
    for (const auto& each : found) {
      if (!options_.pareto.empty() && is_dominated(each.first)) continue;
      if (options_.pareto.empty() && best_.size() == options_.top) break;
      best_.push_back(each);
    }
    std::vector<SimulatedLayout> out;
    for (const auto& each : best_) out.push_back(each.second);
    return out;
  }

  /// Of a point with these bounds.
  [[nodiscard]] bool is_bounded_away(std::uint64_t index, const PlanPoint& bound) const {
    const Scores of = scores(index, bound);
    if (!options_.pareto.empty()) return is_dominated(of);
    return best_.size() == options_.top && of.front() > best_.back().first.front();
  }

 private:
  [[nodiscard]] Scores scores(std::uint64_t index, const PlanPoint& point) const {
    const PlanSetting& setting =
        *settings_[static_cast<std::size_t>(index / space_.layout_count())];
    const std::vector<PlanMetric> metrics =
        options_.pareto.empty() ? std::vector{options_.objective} : options_.pareto;
    Scores out;
    for (const PlanMetric metric : metrics) {
      const double value = *value_of(metric, point, setting, options_.prices);
      out.push_back(info_of(metric).less_is_better ? value : -value);
    }
    return out;
  }

  /// What comes later in the order of scores cannot dominate what came before.
  [[nodiscard]] bool is_dominated(const Scores& of) const {
    return std::any_of(best_.begin(), best_.end(),
                       [&](const auto& each) { return dominates(each.first, of); });
  }

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  std::vector<std::pair<Scores, SimulatedLayout>> best_;
};

void add_ranges(const std::vector<StoredRange>& ranges, SearchResult& out) {
  for (const StoredRange& range : ranges) {
    out.certificate.points += range.end - range.begin;
    for (std::size_t i = 0; i < kPlanRules; ++i) out.certificate.rules[i] += range.rules[i];
    out.memory_by_bound += range.memory;
    out.limits_by_bound += range.limits;
  }
}

}  // namespace

SearchResult tally(const PlanSpace& space,
                   const std::vector<std::unique_ptr<PlanSetting>>& settings,
                   const SearchOptions& options, const std::vector<StoredRange>& ranges,
                   std::vector<SimulatedLayout> simulated, std::vector<DroppedLayout> dropped) {
  SearchResult out;
  add_ranges(ranges, out);
  Tally tally{space, settings, options};
  out.best = tally.best_of(simulated);
  SearchCertificate& certificate = out.certificate;
  certificate.memory = out.memory_by_bound;
  certificate.limits = out.limits_by_bound;
  const auto counts = [&](const auto& each) {
    return !tally.is_bounded_away(each.index, {each.bound_s, each.bound_memory});
  };
  certificate.simulated =
      static_cast<std::uint64_t>(std::count_if(simulated.begin(), simulated.end(), counts));
  for (const DroppedLayout& each : dropped) {
    if (!counts(each)) continue;
    using Why = DroppedLayout::Why;
    ++(each.why == Why::memory   ? certificate.memory
       : each.why == Why::limits ? certificate.limits
                                 : certificate.not_simulated);
  }
  certificate.bounded = certificate.points - certificate.memory - certificate.limits -
                        certificate.simulated - certificate.not_simulated;
  for (const std::uint64_t rule : certificate.rules) certificate.bounded -= rule;
  out.all = std::move(simulated);
  out.dropped = std::move(dropped);
  return out;
}

}  // namespace lockstep::app
