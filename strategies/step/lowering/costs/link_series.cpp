#include "strategies/step/lowering/costs/link_series.hpp"

#include <algorithm>

namespace lockstep {

namespace {

/// Rates that add up to nothing do so but for rounding.
constexpr double kNothing = 1e-3;

}  // namespace

void LinkLoads::add(LinkId link, TimePoint start, TimePoint end, double rate) {
  if (end <= start || rate <= 0) return;
  changes_[link][start] += rate;
  changes_[link][end] -= rate;
}

void LinkLoads::add(const Network& network, const LoggedTransfer& transfer) {
  Route route;
  if (transfer.end <= transfer.start || !network.router->route(transfer.from, transfer.to, route)) {
    return;
  }
  const double rate =
      static_cast<double>(transfer.size.count()) / (transfer.end - transfer.start).seconds();
  for (const Hop& hop : route.hops) {
    const double share = static_cast<double>(hop.weight) / static_cast<double>(kWeightUnit);
    add(hop.link, transfer.start, transfer.end, rate * share);
  }
}

std::vector<LinkSeries> LinkLoads::series(const Cluster& cluster) const {
  std::vector<LinkSeries> out;
  for (const auto& [link, changes] : changes_) {
    LinkSeries series{cluster.link_name(link)};
    double rate = 0;
    for (const auto& [at, change] : changes) {
      rate += change;
      if (rate < kNothing) rate = 0;
      series.points.push_back({at, rate});
    }
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace lockstep
