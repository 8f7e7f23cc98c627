#include "tools/app/step/metrics/step_limits.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::app {

std::optional<BubbleFormula> bubble_formula(const ParallelConfig& parallel) {
  if (parallel.pp == 1) return std::nullopt;
  const double others = parallel.pp - 1;
  const auto microbatches = static_cast<double>(parallel.microbatches());
  switch (parallel.schedule) {
    case PipelineOrder::naive:
      return BubbleFormula{"p-1", others};
    case PipelineOrder::gpipe:
    case PipelineOrder::one_f_one_b:
      return BubbleFormula{"(p-1)/m", others / microbatches};
    case PipelineOrder::interleaved:
      return BubbleFormula{"(p-1)/(v m)", others / (parallel.vpp * microbatches)};
    case PipelineOrder::zb_h1:
    case PipelineOrder::zb_1p:
      return BubbleFormula{"(p-1)(tF+tB-tW)/(m(tF+tB+tW)) with tF = tB = tW",
                           others / (3 * microbatches)};
    case PipelineOrder::zb_v:
      return BubbleFormula{"(p-1)/(6m) with tF = tB = tW", others / (6 * microbatches)};
    case PipelineOrder::v_half:
      return BubbleFormula{"at most (p-1)/(2m) with tF = tB = tW", others / (2 * microbatches)};
    case PipelineOrder::v_min:
      return BubbleFormula{"at most 2(p-1)/(3m) with tF = tB = tW",
                           2 * others / (3 * microbatches)};
    case PipelineOrder::dualpipe:
      return BubbleFormula{"(p/2-1)(tF+2tB-tW)/(m(tF+tB+tW)) with tF = tB = tW",
                           (others - 1) / (3 * microbatches)};
    case PipelineOrder::dualpipe_v:
      return BubbleFormula{"(p-1)/(3m) with tF = tB = tW", others / (3 * microbatches)};
    default:
      return std::nullopt;
  }
}

std::vector<TrainingStepLimit> limits_of(const TrainingStepSummary& summary) {
  std::map<std::pair<TimeUse::Kind, std::string>, TrainingStepLimit> sums;
  for (const PathShare& share : summary.path) {  // longest first
    TrainingStepLimit& sum = sums[{share.use.kind, share.use.group}];
    if (sum.length == Duration{}) sum.use = share.use;
    sum.length += share.length;
  }
  std::vector<TrainingStepLimit> out;
  for (auto& [key, sum] : sums) {
    if (summary.step > Duration{}) sum.share = sum.length.seconds() / summary.step.seconds();
    out.push_back(sum);
  }
  std::stable_sort(
      out.begin(), out.end(),
      [](const TrainingStepLimit& a, const TrainingStepLimit& b) { return a.length > b.length; });
  return out;
}

}  // namespace lockstep::app
