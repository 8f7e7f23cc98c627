#include "strategies/measure/validation/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kFewestToRank = 3;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

int sign(double value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

struct LayoutSet {
  std::vector<double> measured{};
  std::vector<double> simulated{};
};

std::map<std::string, LayoutSet> layout_sets(std::span<const Comparison> rows) {
  std::map<std::string, LayoutSet> out;
  for (const Comparison& row : rows) {
    if (row.layout_set.empty() || row.quantity != ComparedQuantity::step_time) continue;
    LayoutSet& set = out[row.layout_set];
    set.measured.push_back(row.measured);
    set.simulated.push_back(row.simulated);
  }
  std::erase_if(out, [](const auto& set) { return set.second.measured.size() < kFewestToRank; });
  return out;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  LOCKSTEP_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double part = place - static_cast<double>(below);
  return values[below] + part * (values[below + 1] - values[below]);
}

ErrorFigures error_figures(std::span<const double> errors) {
  ErrorFigures out;
  out.count = errors.size();
  if (errors.empty()) return out;
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  out.median = quantile(sizes, 0.5);
  out.mean = mean(sizes);
  out.p90 = quantile(sizes, 0.9);
  out.worst = *std::max_element(sizes.begin(), sizes.end());
  out.bias = mean(errors);
  return out;
}

ErrorFigures mean_of(std::span<const ErrorFigures> groups) {
  ErrorFigures out;
  if (groups.empty()) return out;
  for (const ErrorFigures& group : groups) {
    out.count += group.count;
    out.median += group.median;
    out.mean += group.mean;
    out.p90 += group.p90;
    out.worst += group.worst;
    out.bias += group.bias;
  }
  const auto n = static_cast<double>(groups.size());
  for (double* figure : {&out.median, &out.mean, &out.p90, &out.worst, &out.bias}) *figure /= n;
  return out;
}

double kendall_tau(std::span<const double> a, std::span<const double> b) {
  LOCKSTEP_CHECK(a.size() == b.size());
  double agreement = 0;
  double told_apart_by_a = 0;
  double told_apart_by_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int by_a = sign(a[i] - a[j]);
      const int by_b = sign(b[i] - b[j]);
      agreement += by_a * by_b;
      told_apart_by_a += std::abs(by_a);
      told_apart_by_b += std::abs(by_b);
    }
  }
  const double both = std::sqrt(told_apart_by_a * told_apart_by_b);
  return both > 0 ? agreement / both : 0;
}

double regret(std::span<const double> measured, std::span<const double> simulated) {
  LOCKSTEP_CHECK(measured.size() == simulated.size() && !measured.empty());
  const auto best = std::min_element(simulated.begin(), simulated.end()) - simulated.begin();
  const double fastest = *std::min_element(measured.begin(), measured.end());
  return measured[static_cast<std::size_t>(best)] / fastest - 1;
}

RankingFigures ranking_figures(std::span<const Comparison> rows) {
  RankingFigures out;
  for (const auto& [name, set] : layout_sets(rows)) {
    const double lost = regret(set.measured, set.simulated);
    ++out.sets;
    out.rows += set.measured.size();
    out.tau += kendall_tau(set.measured, set.simulated);
    out.regret += lost;
    out.worst_regret = std::max(out.worst_regret, lost);
  }
  if (out.sets == 0) return out;
  out.tau /= static_cast<double>(out.sets);
  out.regret /= static_cast<double>(out.sets);
  return out;
}

FlatUtilisation flat_utilisation(std::span<const Comparison> rows) {
  std::vector<double> shares;
  for (const Comparison& row : rows) {
    if (row.at_peak) shares.push_back(*row.at_peak / row.measured);
  }
  FlatUtilisation out;
  if (shares.empty()) return out;
  out.utilisation = quantile(shares, 0.5);
  std::vector<double> errors;
  for (const double share : shares) errors.push_back(share / out.utilisation - 1);
  out.errors = error_figures(errors);
  return out;
}

}  // namespace lockstep
