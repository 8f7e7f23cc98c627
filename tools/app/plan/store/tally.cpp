#include "tools/app/plan/store/tally.hpp"

#include <utility>

#include "tools/app/plan/best_layouts.hpp"

namespace lockstep::app {

namespace {

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
  BestLayouts best{space, settings, options};
  for (const SimulatedLayout& each : simulated) best.add(each);
  out.best = best.list();
  out.all = std::move(simulated);
  out.dropped = std::move(dropped);
  count_points(best, out);
  return out;
}

}  // namespace lockstep::app
