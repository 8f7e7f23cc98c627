#include "strategies/interop/nccl_tests/nccl_tests_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"

namespace lockstep {

namespace {

constexpr int kMostFittedRanks = 4096;  // beyond, factors differ by less than what is printed

/// busbw over algbw as printed, and how far off rounding may have it.
struct Factor {
  double value = 0;
  double tolerance = 0;
};

/// Half of the last digit of nccl-tests' "%6.2f"; larger numbers have the same relative precision.
constexpr double kRounding = 0.005;

std::optional<Factor> factor_of(const NcclMeasurement& half) {
  const double algbw = half.algbw_gb_per_s;
  const double busbw = half.busbw_gb_per_s;
  if (algbw <= 0 || busbw <= 0) return std::nullopt;
  const double value = busbw / algbw;
  const double per_unit = std::max(kRounding / algbw, 5e-6) + std::max(kRounding / busbw, 5e-6);
  return Factor{value, value * per_unit};
}

/// From the row that gives it most exactly.
std::optional<Factor> factor_of(const NcclRun& run) {
  std::optional<Factor> best;
  for (const NcclRow& row : run.rows)
    for (const auto& half : {row.out_of_place, row.in_place}) {
      const auto factor = half ? factor_of(*half) : std::nullopt;
      if (factor && (!best || factor->tolerance < best->tolerance)) best = factor;
    }
  return best;
}

bool fits(Collective collective, int ranks, const Factor& factor) {
  return std::abs(bus_factor(collective, ranks) - factor.value) <= factor.tolerance;
}

/// Versions that print no operation have none to print.
bool fits(Collective collective, const NcclRow& row) {
  const bool adds = !row.redop.empty() && row.redop != "none";
  return reduces(collective) == adds && has_root(collective) == (row.root >= 0);
}

/// As many as the text says. One device alone may be one of many in its own log, unless nothing
/// moved; where only some ranks are named there are more.
std::pair<int, int> possible_ranks(const NcclRun& run, bool moves) {
  if (run.communicator_ranks) return {*run.communicator_ranks, *run.communicator_ranks};
  const int named = static_cast<int>(run.devices.size());
  if (run.names_all_ranks() && (named > 1 || !moves)) return {named, named};
  int least = 2;
  for (const NcclDevice& device : run.devices) {
    least = std::max(least, std::min(device.rank, kMostFittedRanks - 1) + 1);
  }
  return {least, kMostFittedRanks};
}

std::optional<NcclFit> fit(Collective collective, const NcclRun& run) {
  const auto factor = factor_of(run);
  const auto [least, most] = possible_ranks(run, factor.has_value());
  NcclFit out{collective, std::nullopt};
  int found = 0;
  for (int ranks = least; ranks <= most; ++ranks) {
    if (factor && !fits(collective, ranks, *factor)) continue;
    out.ranks = ++found == 1 ? std::optional{ranks} : std::nullopt;
  }
  return found == 0 ? std::nullopt : std::optional{out};
}

}  // namespace

std::vector<NcclFit> fit_collectives(const NcclRun& run) {
  const auto named = parse_collective(run.collective);
  if (!run.collective.empty() && !named) return {};
  if (named) return {fit(*named, run).value_or(NcclFit{*named, std::nullopt})};
  std::vector<NcclFit> out;
  for (const Collective collective : collectives()) {
    if (collective == Collective::barrier || run.rows.empty()) continue;
    if (!fits(collective, run.rows.back())) continue;
    if (const auto found = fit(collective, run)) out.push_back(*found);
  }
  return out;
}

}  // namespace lockstep
