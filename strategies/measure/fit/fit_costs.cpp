#include "strategies/measure/fit/fit_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "strategies/measure/fit/least_squares.hpp"

namespace lockstep {

namespace {

/// Figures are fitted per microsecond and per megabyte, so that all are of like size.
constexpr double kMicro = 1e-6;
constexpr double kMega = 1e6;
constexpr std::uint64_t kStep = 10'000'000;  // bytes/s, to which rates are rounded
/// Nanoseconds per megabyte below which bytes take no time of their own.
constexpr double kNothing = 1e-5;

FitRow row_of(const CostPoint& point) {
  const NcclCostTerms& terms = point.terms;
  // Where all rows have equally many ranks, what is sent and what is one's own cannot be told
  // apart, and the first in line gets it. Inside a node that is what holds for other numbers of
  // ranks: a rank's own part. Between nodes, and of switches, it is what passes the NIC or the
  // switch.
  const NcclCostKey& key = point.key;
  const bool own = !key.several_nodes && key.kind != NcclCostKind::nvls;
  return {{1, terms.hops, terms.network_hops, own ? terms.own_bytes / kMega : 0,
           terms.wire_bytes / kMega},
          point.links_s / kMicro,
          point.measured_s / kMicro};
}

Duration duration_of(double microseconds) {
  return Duration::picoseconds(std::llround(microseconds * 1e3) * 1000);
}

/// From microseconds per megabyte.
std::optional<Rate> rate_of(double pace) {
  if (pace < kNothing) return std::nullopt;
  const double whole = std::round(kMega / (pace * kMicro) / static_cast<double>(kStep));
  return Rate::bytes_per_second(static_cast<std::uint64_t>(std::max(1.0, whole)) * kStep);
}

NcclCost cost_of_figures(const NcclCostKey& key, const std::vector<double>& figures) {
  NcclCost out;
  out.key = key;
  out.launch = duration_of(figures[0]);
  out.hop = duration_of(figures[1]);
  out.network_hop = duration_of(figures[2]);
  out.own = rate_of(figures[3]);
  out.wire = rate_of(figures[4]);
  return out;
}

/// As if one figure had been measured alone, once.
void add_prior(double seconds, std::size_t figure, std::vector<FitRow>& rows) {
  if (seconds <= 0) return;
  FitRow row{std::vector<double>(5, 0), 0, seconds / kMicro};
  row.terms[figure] = 1;
  rows.push_back(std::move(row));
}

FittedCost fitted(const NcclCostKey& key, std::span<const CostPoint> points,
                  const HopPriors& priors) {
  std::vector<FitRow> rows;
  for (const CostPoint& point : points)
    if (point.key == key) rows.push_back(row_of(point));
  if (key.kind == NcclCostKind::ring || key.kind == NcclCostKind::tree) {
    add_prior(priors.hop_s, 1, rows);
    if (key.several_nodes) add_prior(priors.network_hop_s, 2, rows);
  }
  FittedCost out;
  out.cost = cost_of_figures(key, fit_non_negative(rows));
  std::vector<double> errors;
  for (const CostPoint& point : points)
    if (point.key == key) errors.push_back(error_of(point, {out.cost}));
  out.errors = error_figures(errors);
  return out;
}

}  // namespace

std::vector<FittedCost> fit_costs(std::span<const CostPoint> points, const ProtocolPriors& priors,
                                  std::size_t least) {
  std::vector<std::pair<NcclCostKey, std::size_t>> keys;
  for (const CostPoint& point : points) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&point](const auto& key) { return key.first == point.key; });
    if (found == keys.end())
      keys.emplace_back(point.key, 1);
    else
      ++found->second;
  }
  std::vector<FittedCost> out;
  for (const auto& [key, count] : keys)
    if (count >= least) out.push_back(fitted(key, points, priors[key.protocol]));
  return out;
}

double error_of(const CostPoint& point, const std::vector<NcclCost>& costs) {
  const NcclCost* cost = find_nccl_cost(costs, point.key);
  const double beside = cost == nullptr ? 0 : nccl_cost_time(*cost, point.terms).seconds();
  return (point.links_s + beside) / point.measured_s - 1;
}

}  // namespace lockstep
