#include "tools/app/plan/store/tally.hpp"

#include <algorithm>
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
  SearchCertificate& certificate = out.certificate;
  certificate.memory = out.memory_by_bound;
  certificate.limits = out.limits_by_bound;
  const auto counts = [&](const auto& each) {
    return !best.excludes(each.index, {each.bound_s, each.bound_memory});
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
