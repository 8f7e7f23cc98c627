#include "strategies/measure/confidence/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/measure/confidence/extrapolation.hpp"
#include "strategies/measure/validation/statistics.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kNearest = 24;
constexpr std::size_t kOfOneGroup = kNearest / 3;
static_assert(kFewRuns == kOfOneGroup);
constexpr double kShare = 0.8;
constexpr double kShareOutside = 0.95;
/// Of log(measured / simulated): errors are kept with four digits.
constexpr double kLeastSpread = 0.0005;

double logs_apart(double a, double b) {
  return std::abs(std::log2(std::max(1.0, a)) - std::log2(std::max(1.0, b)));
}

double if_apart(bool a, bool b, double weight) {
  return a == b ? 0 : weight;
}

struct Near {
  double distance = 0;
  const ValidatedRun* run = nullptr;
};

/// The nearest, few of each group.
std::vector<Near> nearest(const RunKind& kind, const std::vector<ValidatedRun>& checked) {
  std::vector<Near> all;
  for (const ValidatedRun& run : checked) all.push_back({distance_between(kind, run.kind), &run});
  std::stable_sort(all.begin(), all.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  std::map<std::string, std::size_t> taken;
  std::vector<Near> out;
  for (const Near& each : all) {
    if (out.size() == kNearest) break;
    if (taken[each.run->group]++ < kOfOneGroup) out.push_back(each);
  }
  return out;
}

std::vector<std::string> groups_of(const std::vector<Near>& runs) {
  std::map<std::string, int> counts;
  for (const Near& each : runs) ++counts[each.run->group];
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [group, count] : counts) sorted.emplace_back(-count, group);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> out;
  for (auto& [count, group] : sorted) out.push_back(std::move(group));
  return out;
}

struct Weighted {
  double value = 0;
  double weight = 0;

  friend auto operator<=>(const Weighted&, const Weighted&) = default;
};

/// The value up to which that share of the weight lies.
double quantile(std::vector<Weighted> values, double share) {
  constexpr double kRounding = 1e-9;
  std::sort(values.begin(), values.end());
  double all = 0;
  for (const Weighted& each : values) all += each.weight;
  double below = 0;
  for (const Weighted& each : values) {
    below += each.weight;
    if (below >= share * all * (1 - kRounding)) return each.value;
  }
  return values.back().value;
}

/// Of measured over simulated.
double log_ratio(const ValidatedRun& run) {
  return -std::log1p(run.error);
}

/// What runs say of log(measured / simulated): its median, and how far four of five are from it.
struct Errors {
  double median = 0;
  double spread = 0;
};

Errors errors_of(std::vector<Weighted> ratios) {
  Errors out;
  out.median = quantile(ratios, 0.5);
  for (Weighted& each : ratios) each.value = std::abs(each.value - out.median);
  out.spread = quantile(std::move(ratios), kShare);
  return out;
}

/// Of all runs; each group counts once.
Errors overall_of(const std::vector<ValidatedRun>& checked) {
  std::map<std::string, int> counts;
  for (const ValidatedRun& run : checked) ++counts[run.group];
  std::vector<Weighted> ratios;
  ratios.reserve(checked.size());
  for (const ValidatedRun& run : checked)
    ratios.push_back({log_ratio(run), 1.0 / counts[run.group]});
  return errors_of(std::move(ratios));
}

/// How much runs at that distance say.
double weight_at(double distance) {
  return 1 / (1 + distance);
}

/// Of the nearest runs, shrunk to what all runs say as far as these are away.
Errors local_of(const std::vector<Near>& runs, const Errors& overall) {
  std::vector<Weighted> ratios;
  double distance = 0;
  for (const Near& each : runs) {
    ratios.push_back({log_ratio(*each.run), weight_at(each.distance)});
    distance += each.distance / static_cast<double>(runs.size());
  }
  const Errors near = errors_of(std::move(ratios));
  const double trust = weight_at(distance);
  return {trust * near.median + (1 - trust) * overall.median,
          trust * near.spread + (1 - trust) * overall.spread + kLeastSpread};
}

MeasuredRange range_of(const Errors& local, double width) {
  return {std::exp(local.median - width * local.spread),
          std::exp(local.median + width * local.spread), std::exp(local.median)};
}

Duration scaled(Duration time, double by) {
  return Duration::picoseconds(std::llround(static_cast<double>(time.ps()) * by));
}

}  // namespace

double distance_between(const RunKind& a, const RunKind& b) {
  double out = if_apart(a.stack == b.stack, true, 2);
  if (a.gpu != b.gpu) out += gpu_family(a.gpu) == gpu_family(b.gpu) ? 0.25 : 1.5;
  out += if_apart(a.model == b.model, true, 2) + if_apart(a.precision == b.precision, true, 0.5);
  out += if_apart(a.tp > 1, b.tp > 1, 1) + if_apart(a.pp > 1, b.pp > 1, 1) +
         if_apart(a.cp > 1, b.cp > 1, 1) + if_apart(a.ep > 1, b.ep > 1, 1) +
         if_apart(a.dp > 1, b.dp > 1, 0.5) + if_apart(a.nodes > 1, b.nodes > 1, 1) +
         if_apart(a.tp_across_nodes, b.tp_across_nodes, 3) + if_apart(a.zero >= 2, b.zero >= 2, 1) +
         if_apart(a.recompute == b.recompute, true, 0.5);
  out += logs_apart(a.parameters, b.parameters) / 4 + logs_apart(a.gpus, b.gpus) / 4 +
         logs_apart(static_cast<double>(a.micro_batch), static_cast<double>(b.micro_batch)) / 3 +
         logs_apart(a.tp, b.tp) / 3 + logs_apart(a.pp, b.pp) / 4 +
         logs_apart(static_cast<double>(a.sequence), static_cast<double>(b.sequence)) / 4;
  return out;
}

IntervalWidth interval_width(const std::vector<ValidatedRun>& checked) {
  std::map<std::string, std::vector<const ValidatedRun*>> groups;
  for (const ValidatedRun& run : checked) groups[run.group].push_back(&run);
  if (groups.size() < 2) return {};
  std::vector<Weighted> needed;
  for (const auto& [group, members] : groups) {
    std::vector<ValidatedRun> others;
    std::copy_if(checked.begin(), checked.end(), std::back_inserter(others),
                 [&name = group](const ValidatedRun& run) { return run.group != name; });
    const Errors overall = overall_of(others);
    for (const ValidatedRun* run : members) {
      const Errors local = local_of(nearest(run->kind, others), overall);
      needed.push_back({std::abs(log_ratio(*run) - local.median) / local.spread,
                        1 / static_cast<double>(members.size())});
    }
  }
  // Of n groups that are exchangeable with a new one (conformal prediction: Lei et al. 2018, arXiv
  // 1604.04173, section 2).
  const auto count = static_cast<double>(groups.size());
  const double inside = quantile(needed, std::min(1.0, kShare * (count + 1) / count));
  return {inside, std::max(inside, quantile(needed, kShareOutside))};
}

MeasuredRange measured_over_simulated(const RunKind& kind, const std::vector<ValidatedRun>& checked,
                                      double width) {
  LOCKSTEP_CHECK(!checked.empty());
  return range_of(local_of(nearest(kind, checked), overall_of(checked)), width);
}

Confidence confidence_of(Duration step, const RunKind& kind, const ValidatedRuns& checked) {
  LOCKSTEP_CHECK(!checked.runs.empty());
  const std::vector<Near> runs = nearest(kind, checked.runs);
  Confidence out;
  out.outside = extrapolated_properties(kind, checked.runs);
  if (!out.extrapolated()) out.share = kShare;
  MeasuredRange range = range_of(local_of(runs, overall_of(checked.runs)),
                                 out.extrapolated() ? checked.width.outside : checked.width.inside);
  for (const ValidatedRun& run : few_runs_of_model(kind, checked.runs)) {
    range.low = std::min(range.low, std::exp(log_ratio(run)));
    range.high = std::max(range.high, std::exp(log_ratio(run)));
  }
  out.expected = scaled(step, range.median);
  out.low = std::min(step, scaled(step, range.low));
  out.high = std::max(step, scaled(step, range.high));
  out.runs = runs.size();
  out.groups = groups_of(runs);
  return out;
}

}  // namespace lockstep
