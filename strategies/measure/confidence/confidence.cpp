#include "strategies/measure/confidence/confidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/measure/validation/statistics.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kNearest = 24;
constexpr std::size_t kOfOneGroup = kNearest / 3;
/// Fitted: the middle of the nearest runs that holds four of five runs of a group left out of them
/// (a mean over the groups of configs/validation, README.md there): sources differ from each other
/// more than runs of one source do.
constexpr double kMiddle = 0.91;
constexpr double kShare = 0.8;
/// Beyond the largest that was checked by more than this is outside.
constexpr double kSlack = 1.25;

double logs_apart(double a, double b) {
  return std::abs(std::log2(std::max(1.0, a)) - std::log2(std::max(1.0, b)));
}

double if_apart(bool a, bool b, double weight) {
  return a == b ? 0 : weight;
}

/// "a100-sxm4-80gb" and "a100-sxm4-40gb" are of one family.
std::string family(const std::string& gpu) {
  return gpu.substr(0, gpu.find('-'));
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

/// The value below which that share of the weight lies; nearer runs weigh more.
double weighted_quantile(const std::vector<Near>& runs, double share) {
  std::vector<std::pair<double, double>> values;  // measured over simulated, weight
  double all = 0;
  for (const Near& each : runs) {
    const double weight = 1 / (1 + each.distance);
    values.emplace_back(1 / (1 + each.run->error), weight);
    all += weight;
  }
  std::sort(values.begin(), values.end());
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= share * all) return value;
  }
  return values.back().first;
}

MeasuredRange middle_of(const std::vector<Near>& runs) {
  return {weighted_quantile(runs, (1 - kMiddle) / 2), weighted_quantile(runs, (1 + kMiddle) / 2),
          weighted_quantile(runs, 0.5)};
}

Duration scaled(Duration time, double by) {
  return Duration::picoseconds(std::llround(static_cast<double>(time.ps()) * by));
}

/// Counts in full, parameters in billions.
std::string count_text(double count) {
  constexpr double kBillion = 1e9;
  if (count < kBillion) return fmt::format("{:.0f}", count);
  return fmt::format("{:.4g} billion", count / kBillion);
}

class Outside {
 public:
  Outside(const RunKind& kind, const std::vector<ValidatedRun>& checked)
      : kind_{kind}, checked_{checked} {}

  std::vector<ExtrapolatedProperty> find() {
    word("GPU", &RunKind::gpu);
    word("software stack", &RunKind::stack);
    word("model", &RunKind::model);
    word("precision", &RunKind::precision);
    number("GPUs", [](const RunKind& k) { return static_cast<double>(k.gpus); });
    number("parameters", [](const RunKind& k) { return k.parameters; });
    number("tokens of a sequence",
           [](const RunKind& k) { return static_cast<double>(k.sequence); });
    number("tensor parallelism", [](const RunKind& k) { return static_cast<double>(k.tp); });
    number("pipeline stages", [](const RunKind& k) { return static_cast<double>(k.pp); });
    number("context parallelism", [](const RunKind& k) { return static_cast<double>(k.cp); });
    number("expert parallelism", [](const RunKind& k) { return static_cast<double>(k.ep); });
    return std::move(out_);
  }

 private:
  void word(const char* property, std::string RunKind::*member) {
    std::set<std::string> there;
    for (const ValidatedRun& run : checked_) there.insert(run.kind.*member);
    if (there.contains(kind_.*member)) return;
    out_.push_back({property, kind_.*member, fmt::format("{}", fmt::join(there, ", "))});
  }

  template <class Get>
  void number(const char* property, Get get) {
    double most = 0;
    for (const ValidatedRun& run : checked_) most = std::max(most, get(run.kind));
    if (get(kind_) > most * kSlack)
      out_.push_back({property, count_text(get(kind_)), "up to " + count_text(most)});
  }

  const RunKind& kind_;
  const std::vector<ValidatedRun>& checked_;
  std::vector<ExtrapolatedProperty> out_{};
};

}  // namespace

double distance_between(const RunKind& a, const RunKind& b) {
  double out = if_apart(a.stack == b.stack, true, 2);
  if (a.gpu != b.gpu) out += family(a.gpu) == family(b.gpu) ? 0.25 : 1.5;
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

MeasuredRange measured_over_simulated(const RunKind& kind,
                                      const std::vector<ValidatedRun>& checked) {
  LOCKSTEP_CHECK(!checked.empty());
  return middle_of(nearest(kind, checked));
}

Confidence confidence_of(Duration step, const RunKind& kind,
                         const std::vector<ValidatedRun>& checked) {
  LOCKSTEP_CHECK(!checked.empty());
  const std::vector<Near> runs = nearest(kind, checked);
  Confidence out;
  const MeasuredRange range = middle_of(runs);
  out.expected = scaled(step, range.median);
  out.low = std::min(step, scaled(step, range.low));
  out.high = std::max(step, scaled(step, range.high));
  out.share = kShare;
  out.runs = runs.size();
  out.groups = groups_of(runs);
  out.outside = Outside{kind, checked}.find();
  return out;
}

}  // namespace lockstep
