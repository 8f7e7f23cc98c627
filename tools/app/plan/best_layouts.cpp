#include "tools/app/plan/best_layouts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::app {

namespace {

/// Whether `a` is at least as good in everything and better in something.
[[nodiscard]] bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

}  // namespace

BestLayouts::BestLayouts(const PlanSpace& space,
                         const std::vector<std::unique_ptr<PlanSetting>>& settings,
                         const SearchOptions& options)
    : space_{space}, settings_{settings}, options_{options} {}

const PlanSetting& BestLayouts::setting_of(std::uint64_t index) const {
  return *settings_[static_cast<std::size_t>(index / space_.layout_count())];
}

double BestLayouts::score(PlanMetric metric, std::uint64_t index, const PlanPoint& point) const {
  const double value = *value_of(metric, point, setting_of(index), options_.prices);
  return info_of(metric).less_is_better ? value : -value;
}

BestLayouts::Scores BestLayouts::scores(std::uint64_t index, const PlanPoint& point) const {
  Scores out;
  for (const PlanMetric metric : options_.pareto) out.push_back(score(metric, index, point));
  return out;
}

PointRank BestLayouts::rank_of(std::uint64_t index, const PlanPoint& point) const {
  const PlanMetric metric = has_front() ? options_.pareto.front() : options_.objective;
  return {score(metric, index, point), index};
}

bool BestLayouts::is_dominated(const Scores& scores) const {
  return std::any_of(front_.begin(), front_.end(),
                     [&](const FrontLayout& each) { return dominates(each.scores, scores); });
}

void BestLayouts::add(const SimulatedLayout& layout) {
  if (!layout.fits || !layout.holds) return;
  const PlanPoint point{layout.step_s, layout.memory};
  if (!has_front()) {
    best_.insert({rank_of(layout.index, point), layout});
    while (best_.size() > options_.top) best_.erase(std::prev(best_.end()));
    return;
  }
  Scores next = scores(layout.index, point);
  if (is_dominated(next)) return;
  std::erase_if(front_, [&](const FrontLayout& each) { return dominates(next, each.scores); });
  front_.push_back({std::move(next), layout});
}

bool BestLayouts::excludes(const PointRank& rank) const {
  if (has_front() || best_.size() < options_.top) return false;
  return rank > std::prev(best_.end())->rank;
}

bool BestLayouts::excludes(std::uint64_t index, const PlanPoint& bound) const {
  return has_front() ? is_dominated(scores(index, bound)) : excludes(rank_of(index, bound));
}

std::vector<SimulatedLayout> BestLayouts::list() const {
  std::vector<SimulatedLayout> out;
  for (const Best& each : best_) out.push_back(each.layout);
  std::vector<FrontLayout> front = front_;
  std::sort(front.begin(), front.end(), [](const FrontLayout& a, const FrontLayout& b) {
    return a.scores != b.scores ? a.scores < b.scores : a.layout.index < b.layout.index;
  });
  for (const FrontLayout& each : front) out.push_back(each.layout);
  return out;
}

std::optional<double> BestLayouts::value() const {
  if (best_.empty()) return std::nullopt;
  return best_.begin()->rank.value;
}

void count_points(const BestLayouts& best, SearchResult& result) {
  SearchCertificate& certificate = result.certificate;
  const auto counts = [&](const auto& layout) {
    return !best.excludes(layout.index, {layout.bound_s, layout.bound_memory});
  };
  certificate.memory = result.memory_by_bound;
  certificate.limits = result.limits_by_bound;
  certificate.not_simulated = 0;
  certificate.simulated =
      static_cast<std::uint64_t>(std::count_if(result.all.begin(), result.all.end(), counts));
  for (const DroppedLayout& layout : result.dropped) {
    if (!counts(layout)) continue;
    using Why = DroppedLayout::Why;
    ++(layout.why == Why::memory   ? certificate.memory
       : layout.why == Why::limits ? certificate.limits
                                   : certificate.not_simulated);
  }
  std::uint64_t decided = certificate.memory + certificate.limits + certificate.simulated +
                          certificate.not_simulated + certificate.undecided;
  for (const std::uint64_t rule : certificate.rules) decided += rule;
  // Points that a first look has decided are not visited again where the search ends before.
  const std::uint64_t twice =
      std::min(certificate.unvisited, decided - std::min(decided, certificate.points));
  certificate.unvisited -= twice;
  certificate.undecided -= std::min(certificate.undecided, twice);
  certificate.bounded = certificate.points - std::min(decided - twice, certificate.points);
}

}  // namespace lockstep::app
